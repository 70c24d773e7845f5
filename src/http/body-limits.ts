import type { FastifyInstance } from 'fastify'

const mebibyte = 1024 * 1024

/** Routes whose bodies may hold images or files: `HTTP_BODY_LIMIT` is their limit. */
const withImages = new Set([
  '/core/v1/chain',
  '/core/v1/chain_streaming',
  '/core/v1/chain_async',
  '/v1/chat/completions',
  '/v1/responses',
  '/a2a',
])

/** Bytes of a body that holds text or data without images. */
const textLimits: Record<string, number> = {
  // The content of a file for `write_file`, the rows of a chart.
  '/core/v1/tool/execute': 4 * mebibyte,
  '/mcp': 4 * mebibyte,
  // A changed input of the tool.
  '/core/v1/runs/:request_id/approvals': 4 * mebibyte,
  '/core/v1/agent/config': 4 * mebibyte,
}

/** Bytes of every other body: names, settings, feedback. */
const otherLimit = mebibyte

/** Gives each route that is registered later its limit, unless the route states one itself. `bodyLimit` bounds all of them. */
export function limitBodies(app: FastifyInstance, bodyLimit: number): void {
  app.addHook('onRoute', (route) => {
    const own = withImages.has(route.url) ? bodyLimit : (textLimits[route.url] ?? otherLimit)
    route.bodyLimit ??= Math.min(own, bodyLimit)
  })
}
