import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import type { App } from '../server/app.ts'
import { notFound } from '../server/error-reply.ts'
import { redirect } from './page.ts'
import { prefixOf } from '../server/origin.ts'

const isPublic = { config: { access: 'public' }, schema: { hide: true } } as const

/** The page may load its own files only. Without `upgrade-insecure-requests`, http addresses stay http under every host name. */
const contentSecurityPolicy = [
  "default-src 'none'",
  "base-uri 'self'",
  "connect-src 'self'",
  "font-src 'self' data:",
  "form-action 'self'",
  "frame-ancestors 'self'",
  "img-src 'self' data: blob:",
  "script-src 'self'",
  "style-src 'self'",
].join('; ')

const headers = { 'content-security-policy': contentSecurityPolicy, 'referrer-policy': 'same-origin' }

/** How long browsers keep the files of the page. */
const maxAgeSeconds = 3600

const types: Record<string, string> = { '.js': 'text/javascript; charset=utf-8', '.css': 'text/css; charset=utf-8' }

/** A page to read the OpenAPI document and to try its routes, served without third-party hosts. Its files are read when they are asked for. */
export function apiPageRoutes(app: App): void {
  // The router ignores a slash at the end, but relative addresses in the page need the slash.
  app.get('/docs/api', isPublic, async (request, reply) => {
    const [address = ''] = request.url.split('?', 1)
    if (!address.endsWith('/')) return redirect(reply, `${prefixOf(request)}/docs/api/`)
    const { renderApiPage } = await import('./api-page-files.ts')
    return reply
      .headers({ ...headers, 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-store' })
      .serializer(String)
      .send(renderApiPage(prefixOf(request)))
  })

  app.get<{ Params: { name: string } }>('/docs/api/static/:name', isPublic, async (request, reply) => {
    const { name } = request.params
    const content = await readPageFile(name)
    if (content === undefined) throw notFound(request)
    const type = types[path.extname(name)]
    return reply.headers({ ...headers, 'content-type': type, 'cache-control': `public, max-age=${maxAgeSeconds}` }).send(content)
  })
}

/** The content of a file of the page; undefined for any other name. */
async function readPageFile(name: string): Promise<Buffer | undefined> {
  if (name === 'swagger-ui.css' || name === 'swagger-ui-bundle.js') {
    const installed = path.dirname(fileURLToPath(import.meta.resolve('@fastify/swagger-ui/package.json')))
    return readFile(path.join(installed, 'static', name))
  }
  if (name !== 'page.js' && name !== 'page.css') return undefined
  const { pageScript, pageStyle } = await import('./api-page-files.ts')
  return Buffer.from(name === 'page.js' ? pageScript : pageStyle)
}
