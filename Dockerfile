# Build: docker build -t bill-sync .   Run: docker run --rm --env-file .env bill-sync sync
FROM node:24-slim AS build
WORKDIR /build
COPY package.json package-lock.json .npmrc ./
# No package's script is run, whatever npm the image has.
RUN npm ci --ignore-scripts
COPY . .
RUN npm run build && npm prune --ignore-scripts --omit=dev --omit=optional

FROM node:24-slim
ENV NODE_ENV=production
WORKDIR /app
COPY --from=build /build/package.json ./
COPY --from=build /build/node_modules node_modules
COPY --from=build /build/migrations migrations
COPY --from=build /build/src/*.js src/
COPY --from=build /build/dist dist
# Nothing here is theirs: the program writes to the database of DATABASE_URL alone.
USER node
ENTRYPOINT ["node", "--max-semi-space-size=2", "--max-old-space-size=2000", "src/bin.js"]
CMD ["sync"]
