import type { FastifyReply, FastifyRequest } from 'fastify'
import type { App } from '../server/app.ts'
import { ServiceError } from '../../errors.ts'
import { notFound } from '../server/error-reply.ts'
import { isBrowser, redirect, renderNotice, sendPage, type RenderedPage, pageHeaders } from './page.ts'
import { prefixOf } from '../server/origin.ts'
import { sendBuiltFile, listBuiltFiles, type BuiltFile } from './built-files.ts'
import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import path from 'node:path'

const isPublic = { config: { access: 'public' }, schema: { hide: true } } as const

/**
 * The console: a page for every path below `/console/` that is no file, and the files of the page. Data comes from the routes of the
 * interface, with the caller's key, so that the page itself is public. Undefined: the console is not built.
 */
export function consoleRoutes(app: App, bundle: ConsoleBundle | undefined): void {
  const render = bundle && createPageRenderer(bundle.page)

  // The router ignores a slash at the end, but relative addresses in the page need the slash.
  app.get('/console', isPublic, async (request, reply) => {
    const [path = '', query] = request.url.split(/\?(.*)/s, 2)
    if (!path.endsWith('/')) return redirect(reply, `${prefixOf(request)}/console/${query === undefined ? '' : `?${query}`}`)
    return answer(request, reply, render)
  })

  app.get<{ Params: { '*': string } }>('/console/*', isPublic, async (request, reply) => {
    const { '*': name } = request.params
    const file = bundle?.files.get(name)
    if (file) return sendBuiltFile(request, reply, file)
    // A page in place of a script would fail in the browser with a message about its type.
    if (bundle && name.startsWith('assets/')) throw notFound(request)
    return answer(request, reply, render)
  })
}

/** Leads browsers from the address of the service to the console. */
export function rootRoute(app: App): void {
  app.get('/', isPublic, async (request, reply) => {
    if (!isBrowser(request)) throw notFound(request)
    return redirect(reply.header('vary', 'accept'), `${prefixOf(request)}/console/`)
  })
}

function answer(request: FastifyRequest, reply: FastifyReply, render?: (prefix: string) => RenderedPage): FastifyReply {
  if (render) return sendPage(reply, render(prefixOf(request)))
  const refusal = 'The console is not built. Run "npm run build" in the folder of the service, then start the service again.'
  if (!isBrowser(request)) throw new ServiceError('console_not_built', refusal)
  return sendPage(reply.code(503), renderNotice(refusal))
}

/** Returns a function that writes the page for one response. `html` is the built `index.html`; `prefix` is a checked path prefix. */
export function createPageRenderer(html: string): (prefix: string) => RenderedPage {
  // The built page has both elements already, with values for the development server.
  const bare = html.replace(/<(?:base|meta (?:name|property)="csp-nonce")(?=[\s/>])[^<>]*>\s*/g, '')
  const head = /<head[^<>]*>/.exec(bare)
  const at = head ? head.index + head[0].length : 0
  const [before, after] = [bare.slice(0, at), bare.slice(at)]
  return (prefix) => {
    const nonce = randomBytes(16).toString('base64url')
    const added = `<base href="${prefix}/console/" /><meta name="csp-nonce" content="${nonce}" />`
    return { html: before + added + after, headers: { ...pageHeaders, 'content-security-policy': policy(nonce) } }
  }
}

/** Scripts come from files only. The nonce is for style elements that components add. */
function policy(nonce: string): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self' 'nonce-${nonce}'`,
    "img-src 'self' blob: data:",
    "connect-src 'self'",
    "font-src 'self'",
    'frame-src blob:',
    "frame-ancestors 'none'",
    "base-uri 'self'",
    "form-action 'self'",
  ].join('; ')
}

/** The built console: a page and its files. */
export interface ConsoleBundle {
  /** Text of `index.html`. */
  page: string
  /** Files by their path below `/console/`, such as `assets/index-B1x2.js`. */
  files: ReadonlyMap<string, BuiltFile>
}

/** Opens a build. Undefined when the folder holds no build. */
export async function openBundle(folder: string): Promise<ConsoleBundle | undefined> {
  const page = await readFile(path.join(folder, 'index.html'), 'utf8').catch(() => undefined)
  if (page === undefined) return undefined
  const files = await listBuiltFiles(folder)
  files.delete('index.html')
  return { page, files }
}
