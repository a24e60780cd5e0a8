import { defineConfig } from "drizzle-kit";

export default defineConfig({
  dialect: "postgresql",
  schema: "./src/core/postgres/schema/*schema.ts",
  out: "./migrations",
});
