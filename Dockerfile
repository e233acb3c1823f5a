# The gateway without its embedded stores: it needs a Postgres and an EventStoreDB server (docker-compose.yml).
FROM node:24-slim
WORKDIR /app
COPY package.json package-lock.json ./
# No install script is needed: the image brings Node, and the embedded Postgres is left out.
RUN npm ci --omit=dev --omit=optional --ignore-scripts && npm cache clean --force
COPY commands commands
COPY projections projections
COPY read-api read-api
COPY mcp mcp
COPY infra infra
RUN mkdir -p /var/lib/mailbox-gateway && chown node:node /var/lib/mailbox-gateway
USER node
ENV NODE_ENV=production MALLOC_ARENA_MAX=1 HOST=0.0.0.0 PORT=3000 DATA_DIR=/var/lib/mailbox-gateway ROLES=api,projector,mail
VOLUME /var/lib/mailbox-gateway
EXPOSE 3000
# Readiness, not liveness: a process that is not ready gets no requests but is not restarted.
HEALTHCHECK --interval=5s --timeout=4s --retries=3 --start-period=60s \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT}/health/ready`).then((r) => process.exit(r.ok ? 0 : 1))"]
# The flags of `npm start` (package.json, node_flags).
CMD ["node", "--max-semi-space-size=8", "--heap-growing-percent=40", "infra/process/main.ts"]
