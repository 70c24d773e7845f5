import { STATUS_CODES, type IncomingHttpHeaders, type IncomingMessage, type Server } from 'node:http'
import type { Duplex } from 'node:stream'
import { text } from 'node:stream/consumers'
import type { FastifyRequest } from 'fastify'
import type { WebSocketServer } from 'ws'
import { accessTo, type Principal } from '../../../../access/permissions.ts'
import { ServiceError } from '../../../../errors.ts'
import type { App } from '../../../server/app.ts'
import { principalOf } from '../../../server/authenticate.ts'
import { requestLocally } from '../../../server/local-request.ts'
import { originOf } from '../../../server/origin.ts'
import { socketPath } from '../../../server/server.ts'
import { openAiErrors } from '../errors.ts'
import type { ResponseSocket } from './response-socket.ts'

const probeHeader = 'x-agent-core-upgrade'
/** Most connections at a time: of a caller, of a tenant, of the process. */
export const maxConnections = { owner: 20, tenant: 200, process: 1000 } as const
/** Bytes of a message. A body of `POST /v1/responses` may be larger, but counts in the memory of all bodies while the body arrives. */
const maxMessageBytes = 16 * 1024 * 1024

/** Responses over WebSockets: each message is a request of its own to `POST /v1/responses`. */
export function responseSocketRoutes(app: App): void {
  const probes = new Map<string, (principal: Principal) => void>()
  const open = new Connections()
  addProbe(app, probes, open)
  app.server.on('upgrade', (request, socket, head) => {
    void accept(app, { request, socket, head, probes, open }).catch(() => socket.destroy())
  })
  app.addHook('preClose', async () => open.shutDown())
}

/** The connections of the process. */
class Connections {
  private readonly sockets = new Map<ResponseSocket, Principal>()
  private isClosing = false

  /** Throws where a further connection of the caller would be one too many. */
  refuseFurther({ tenant, owner }: Principal): void {
    if (this.isClosing) throw new ServiceError('overloaded', 'The service is stopping.')
    const callers = [...this.sockets.values()]
    const ofTenant = callers.filter((caller) => caller.tenant === tenant)
    const ofOwner = ofTenant.filter((caller) => caller.owner === owner)
    const isFull = ofOwner.length >= maxConnections.owner || ofTenant.length >= maxConnections.tenant
    if (!isFull && callers.length < maxConnections.process) return
    throw new ServiceError('rate_limited', `Too many WebSockets are open: at most ${maxConnections.owner} of a caller.`, { retryAfter: 60 })
  }

  add(socket: ResponseSocket, principal: Principal): void {
    this.sockets.set(socket, principal)
    socket.onClose(() => this.sockets.delete(socket))
    if (this.isClosing) socket.shutDown()
  }

  shutDown(): void {
    this.isClosing = true
    for (const socket of this.sockets.keys()) socket.shutDown()
  }
}

type Probes = Map<string, (principal: Principal) => void>

/** The route answers the request that checks the key and the origin of an upgrade; any other request is a 405. */
function addProbe(app: App, probes: Probes, open: Connections): void {
  app.route({
    method: 'GET',
    url: socketPath,
    exposeHeadRoute: false,
    schema: { hide: true },
    config: { access: accessTo.chat, errorShape: openAiErrors },
    handler: async (request, reply) => {
      const admit = probes.get(String(request.headers[probeHeader]))
      if (!admit) {
        void reply.header('allow', 'POST')
        throw new ServiceError('method_not_allowed', 'GET is not allowed here, except to open a WebSocket; allowed: POST.')
      }
      refuseForeignOrigin(request)
      const principal = principalOf(request)
      open.refuseFurther(principal)
      admit(principal)
      return reply.code(204).send()
    },
  })
}

/** Browsers open WebSockets to every host, and ask no server before. */
function refuseForeignOrigin(request: FastifyRequest): void {
  const { origin } = request.headers
  if (origin === undefined || origin === originOf(request) || request.server.corsOrigins.has(origin)) return
  throw new ServiceError('forbidden', 'Pages of this origin may not open a WebSocket: name the origin in CORS_ORIGINS.')
}

interface Upgrade {
  request: IncomingMessage
  socket: Duplex
  head: Buffer
  probes: Probes
  open: Connections
}

let socketServer: Promise<WebSocketServer> | undefined

/** Loads the library with the first upgrade. */
async function createSocketServer(): Promise<WebSocketServer> {
  const { WebSocketServer: Created } = await import('ws')
  return new Created({ noServer: true, clientTracking: false, maxPayload: maxMessageBytes })
}

async function accept(app: App, { request, socket, head, probes, open }: Upgrade): Promise<void> {
  const headers = passedHeaders(request.headers)
  const principal = await admit(app.server, { headers, socket, probes, origin: request.headers.origin })
  if (!principal) return
  socketServer ??= createSocketServer()
  const [server, { ResponseSocket: Created }] = await Promise.all([socketServer, import('./response-socket.ts')])
  server.handleUpgrade(request, socket, head, (client) => {
    open.add(new Created({ client, server: app.server, headers, pingMs: 2 * app.streamKeepAliveMs }), principal)
  })
}

interface Handshake {
  headers: IncomingHttpHeaders
  origin: string | undefined
  socket: Duplex
  probes: Probes
}

/** Asks the own server who opens the connection. A refusal is the answer to the upgrade. */
async function admit(server: Server, { headers, origin, socket, probes }: Handshake): Promise<Principal | undefined> {
  const id = crypto.randomUUID()
  const { promise, resolve } = Promise.withResolvers<Principal>()
  probes.set(id, resolve)
  try {
    const asked = { ...headers, connection: 'close', [probeHeader]: id, ...(origin !== undefined && { origin }) }
    const reply = await requestLocally(server, { method: 'GET', path: socketPath, headers: asked, signal: AbortSignal.timeout(30_000) })
    const body = await text(reply)
    if (reply.statusCode === 204) return await promise
    refuse(socket, reply, body)
    return undefined
  } finally {
    probes.delete(id)
  }
}

const shownHeaders = ['content-type', 'www-authenticate', 'retry-after', 'request-id', 'x-request-id']

function refuse(socket: Duplex, { statusCode = 500, headers }: IncomingMessage, body: string): void {
  const lines = shownHeaders.flatMap((name) => (headers[name] === undefined ? [] : [`${name}: ${String(headers[name])}`]))
  const head = [
    `HTTP/1.1 ${statusCode} ${STATUS_CODES[statusCode]}`,
    ...lines,
    `content-length: ${Buffer.byteLength(body)}`,
    'connection: close',
  ]
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`, () => socket.destroy())
}

const passed = [
  'host',
  'authorization',
  'x-api-key',
  'x-service-access',
  'user-agent',
  'x-forwarded-proto',
  'x-forwarded-host',
  'x-forwarded-prefix',
]

/** The headers of the upgrade that each message has too: key, address, and context for tools. No cookie counts. */
function passedHeaders(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => passed.includes(name) || name.startsWith('stix')))
}
