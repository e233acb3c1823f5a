# The gateway without its embedded stores: Postgres and EventStoreDB come from outside (docker-compose.yml).
FROM node:24-slim
WORKDIR /app
COPY package.json package-lock.json ./
# No package here needs its install script: the image has its own Node, and the embedded Postgres stays out.
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
# Ready: it can answer truthfully. A process that is not gets no requests, and is not restarted for it.
HEALTHCHECK --interval=5s --timeout=4s --retries=3 --start-period=60s \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT}/health/ready`).then((r) => process.exit(r.ok ? 0 : 1))"]
# With the flags of `npm start` (package.json, node_flags).
CMD ["node", "--max-semi-space-size=8", "--heap-growing-percent=80", "infra/process/main.ts"]
