import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { App } from '../server/app.ts'
import { ServiceError } from '../../errors.ts'
import { etagOf } from '../server/built-files.ts'
import { createSiteOpener, type DocumentationSite } from '../documentation/site.ts'
import { notFound } from '../server/error-reply.ts'
import { isBrowser, redirect, renderNotice, sendPage, type RenderedPage } from '../server/pages.ts'
import { prefixOf } from '../server/prefix.ts'
import { accepts, isListed, sendBuiltFile } from '../server/send-built-file.ts'

const isPublic = { config: { access: 'public' }, schema: { hide: true } } as const

/** The documentation of this version. `folder` holds the build, which is opened at the first request. */
export function documentationRoutes(app: App, folder: string): void {
  const open = createSiteOpener(folder)

  app.get('/docs', isPublic, async (request, reply) => {
    if (!endsInSlash(request)) return redirect(reply, `${prefixOf(request)}/docs/`)
    return answer(request, reply, await open(), '')
  })

  app.get<{ Params: { '*': string } }>('/docs/*', isPublic, async (request, reply) => {
    const { '*': name } = request.params
    return answer(request, reply, await open(), endsInSlash(request) ? `${name}/` : name)
  })
}

/** Sends a page, a file, or the way to the address of a page. `name` is the path below `/docs/`. */
async function answer(
  request: FastifyRequest,
  reply: FastifyReply,
  site: DocumentationSite | undefined,
  name: string,
): Promise<FastifyReply> {
  if (!site) return refuse(request, reply)
  const file = site.files.get(name)
  if (file) return sendBuiltFile(request, reply, file)
  const page = name === '' || name.endsWith('/') ? `${name}index` : name
  if (site.hasPage(page)) return sendCompressed(request, reply, await site.readPage(page, prefixOf(request)))
  const address = addressOf(site, name.replace(/\/$|(\/index)?\.html$/, ''))
  if (address !== undefined) return redirect(reply, `${prefixOf(request)}/docs/${address}`)
  if (!isBrowser(request) || name.startsWith('assets/')) throw notFound(request)
  return sendPage(reply.code(404), await site.readPage('404', prefixOf(request)))
}

/** The address of a page that was asked for by another name, such as `compare/` for `compare`. */
function addressOf(site: DocumentationSite, name: string): string | undefined {
  if (site.hasPage(`${name}/index`)) return `${name}/`
  return site.hasPage(name) ? name.replace(/(^|\/)index$/, '$1') : undefined
}

async function sendCompressed(request: FastifyRequest, reply: FastifyReply, page: RenderedPage): Promise<FastifyReply> {
  const etag = etagOf(page.html)
  void reply.headers({ ...page.headers, etag, vary: 'accept-encoding' })
  if (isListed(request.headers['if-none-match'], etag)) return reply.code(304).send()
  if (!accepts(request.headers['accept-encoding'] ?? '', 'gzip')) return sendPage(reply, page)
  return reply.header('content-encoding', 'gzip').send(await promisify(gzip)(page.html))
}

function refuse(request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const refusal = 'The documentation is not built. Run "npm run build" in the folder of the service.'
  if (!isBrowser(request)) throw new ServiceError('documentation_not_built', refusal)
  return sendPage(reply.code(503), renderNotice(refusal))
}

/** The router ignores a slash at the end of a path, but relative addresses in a page depend on the slash. */
function endsInSlash({ url }: FastifyRequest): boolean {
  return url.replace(/\?[^]*/, '').endsWith('/')
}
