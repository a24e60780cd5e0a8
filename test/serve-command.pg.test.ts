import { expect, test } from "vitest";
import { runCli, startCli } from "./support/cli.ts";
import { testDatabase } from "./support/database.ts";

test.each(["SIGINT", "SIGTERM"] as const)(
  "serve prints its address, answers for its health, and ends with code 0 on %s",
  async (signal) => {
    await using database = await testDatabase();
    await using serving = await startCli(["serve", "--port", "0"], {
      env: { DATABASE_URL: database.url },
    });
    const [url] = await serving.seen("stdout", /^http:\/\/127\.0\.0\.1:\d+/);
    const answers = await Promise.all(
      ["/healthz", "/readyz", "/nothing?secret=hunter2"].map((path) => fetch(`${url}${path}`)),
    );
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 404]);
    serving.kill(signal);
    const end = await serving.ended;
    expect(end).toMatchObject({ code: 0, stdout: `${url}\n` });
    expect(end.stderr).toContain('"route":"/readyz"');
    expect(end.stderr).not.toContain("hunter2");
  },
);

test("serve of a database without tables, or on a port that is taken, ends with what to do", async () => {
  await using empty = await testDatabase({ isEmpty: true });
  const none = await runCli(["serve", "--port", "0"], { env: { DATABASE_URL: empty.url } });
  expect(none).toMatchObject({ code: 1, stderr: "nothing is stored yet; run sync, then serve\n" });
  await using database = await testDatabase();
  const env = { DATABASE_URL: database.url };
  await using first = await startCli(["serve", "--port", "0"], { env });
  const [, port = ""] = await first.seen("stdout", /^http:\/\/127\.0\.0\.1:(\d+)/);
  const second = await runCli(["serve", "--port", port], { env });
  expect(second).toMatchObject({ code: 1, stdout: "" });
  expect(second.stderr).toMatch(/^port \d+ of 127\.0\.0\.1 cannot be used [^\n]* choose another/);
});
