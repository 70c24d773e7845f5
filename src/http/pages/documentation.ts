import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { App } from '../server/app.ts'
import { ServiceError } from '../../errors.ts'
import { etagOf, accepts, isListed, sendBuiltFile, listBuiltFiles, type BuiltFile } from './built-files.ts'
import { notFound } from '../server/error-reply.ts'
import { isBrowser, redirect, renderNotice, sendPage, type RenderedPage, pageHeaders } from './page.ts'
import { prefixOf } from '../server/origin.ts'
import { readFile, stat } from 'node:fs/promises'
import path from 'node:path'

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

/** The built documentation: pages, which are written for one prefix each, and files, which are sent as they are. */
export interface DocumentationSite {
  /** Files by their path below `/docs/`, such as `assets/app.Ev3gu5da.js` and `guides/streaming.md`. */
  files: ReadonlyMap<string, BuiltFile>
  /** True for a page such as `guides/streaming`. */
  hasPage(name: string): boolean
  /** Reads a page and writes it for a prefix. Rejects when the file has been removed. `prefix` is a checked path prefix. */
  readPage(name: string, prefix: string): Promise<RenderedPage>
}

/** The build writes addresses of this service below this prefix (`docs/.vitepress/prefix.ts`). */
const prefixPlaceholder = '/__prefix__'
const hashFile = 'script-hashes.json'

/** Returns a function that opens the build in a folder when it is first needed, and again after a newer build has replaced it. */
export function createSiteOpener(folder: string): () => Promise<DocumentationSite | undefined> {
  let opened: { builtAt: number; site: Promise<DocumentationSite | undefined> } | undefined
  return async () => {
    const builtAt = await stat(path.join(folder, 'index.html')).then(
      ({ ctimeMs }) => ctimeMs,
      () => undefined,
    )
    if (builtAt === undefined) return undefined
    if (opened?.builtAt !== builtAt) opened = { builtAt, site: openSite(folder) }
    return opened.site
  }
}

/** Opens a build of the documentation. Undefined when the folder holds no build. */
async function openSite(folder: string): Promise<DocumentationSite | undefined> {
  const built = await listBuiltFiles(folder)
  if (!built.has('index.html')) return undefined
  const scriptHashes = JSON.parse(await readFile(path.join(folder, hashFile), 'utf8')) as string[]
  const headers = { ...pageHeaders, 'cache-control': 'no-cache', 'content-security-policy': policy(scriptHashes) }
  const pages = new Map([...built].filter(([name]) => name.endsWith('.html')))
  const isFile = (name: string) => !pages.has(name) && name !== hashFile
  return {
    files: new Map([...built].filter(([name]) => isFile(name))),
    hasPage: (name) => pages.has(`${name}.html`),
    async readPage(name, prefix) {
      const { bytes } = await pages.get(`${name}.html`)!.read()
      return { html: bytes.toString().replaceAll(prefixPlaceholder, prefix), headers }
    },
  }
}

/** The pages load nothing from other hosts. Their two short scripts, which prevent a flash of the wrong theme, are named by their hashes. */
function policy(scriptHashes: readonly string[]): string {
  return [
    "default-src 'none'",
    `script-src 'self' ${scriptHashes.map((hash) => `'${hash}'`).join(' ')}`,
    "style-src 'self'",
    "img-src 'self' data:",
    "connect-src 'self'",
    "font-src 'self'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
    "form-action 'none'",
  ].join('; ')
}
