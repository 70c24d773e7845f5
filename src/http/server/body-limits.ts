import type { FastifyInstance } from 'fastify'

const mebibyte = 1024 * 1024

/** Routes with images or files in their bodies; their limit is `HTTP_BODY_LIMIT`. */
const routesWithImages = new Set([
  '/core/v1/chain',
  '/core/v1/chain_streaming',
  '/core/v1/chain_async',
  '/v1/chat/completions',
  '/v1/responses',
  '/ag-ui',
  '/ui/chat',
  '/a2a',
  '/a2a/v1/message::send',
  '/a2a/v1/message::stream',
])

/** Limits in bytes of routes whose bodies hold text or data without images. */
const textLimits: Record<string, number> = {
  // The body may hold the content of a file for `write_file`, or the rows of a chart.
  '/core/v1/tool/execute': 4 * mebibyte,
  '/mcp': 4 * mebibyte,
  // The body may hold a changed input of the tool.
  '/core/v1/runs/:request_id/approvals': 4 * mebibyte,
  '/core/v1/agent/config': 4 * mebibyte,
}

/** Limit in bytes of all other routes, whose bodies hold names, settings or feedback. */
const otherLimit = mebibyte

/** Sets the `bodyLimit` of each route that is registered later, unless the route sets its own. `bodyLimit` bounds every limit. */
export function limitBodies(app: FastifyInstance, bodyLimit: number): void {
  app.addHook('onRoute', (route) => {
    const routeLimit = routesWithImages.has(route.url) ? bodyLimit : (textLimits[route.url] ?? otherLimit)
    route.bodyLimit ??= Math.min(routeLimit, bodyLimit)
  })
}
