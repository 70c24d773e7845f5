import type { FastifyReply, FastifyRequest } from 'fastify'
import type { App } from '../server/app.ts'
import { ServiceError } from '../../errors.ts'
import type { ConsoleBundle } from '../console/bundle.ts'
import { createPageRenderer } from '../console/page.ts'
import { notFound } from '../server/error-reply.ts'
import { isBrowser, redirect, renderNotice, sendPage, type RenderedPage } from '../server/pages.ts'
import { prefixOf } from '../server/prefix.ts'
import { sendBuiltFile } from '../server/send-built-file.ts'

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
