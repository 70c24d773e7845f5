import { Readable } from 'node:stream'
import { Type, type Static } from 'typebox'
import { auditActions, type AuditAction } from '../../audit/event.ts'
import { exportLines } from '../../audit/export.ts'
import type { LedgerSource } from '../../audit/ledger-source.ts'
import type { AuditReader } from '../../audit/reader.ts'
import type { AuditReads } from '../../audit/reads.ts'
import { invalid } from '../../errors.ts'
import { parsePosition, toOffset } from '../../json/offset.ts'
import { NamedText } from '../named-runs.ts'
import {
  closed,
  named,
  namedObject,
  Offset,
  object,
  optionalText,
  orNull,
  pageFields,
  pageLimit,
  replies,
  route,
  Time,
  toTime,
} from '../schemas/shared.ts'
import type { App } from '../server/app.ts'
import { principalOf } from '../server/authenticate.ts'

const path = '/core/v1/audit'
const tag = 'Audit'

const dateTime = (description: string) => Type.String({ format: 'date-time', description })

const actorFields = {
  issuer: Type.String({ description: 'The issuer of the key; `agent-core` for keys of this service.' }),
  sub: Type.String({ description: 'Who has acted. A run acts for its owner.' }),
  jti: optionalText('The id of the key, where it is known.'),
  via: Type.Enum(['api', 'console', 'cli', 'run', 'service'], { description: 'The way to the service.' }),
}

const eventFields = {
  id: Type.String(),
  at: dateTime('When the act was made.'),
  actor: object('Who has acted.', actorFields),
  action: Type.Enum(Object.keys(auditActions) as AuditAction[], { description: actionsText() }),
  target: Type.String({ description: 'What the act is about, such as `tool:refund` or `session:<id>`.' }),
  outcome: Type.Enum(['success', 'error', 'refused', 'unknown'], {
    description: '`refused`: the act was not tried. `unknown`: the process ended in the middle.',
  }),
  request_id: orNull(Type.String(), 'The run that the act belongs to.'),
  config_version: orNull(Type.String(), 'The version of the configuration.'),
  data: orNull(Type.Record(Type.String(), Type.Unknown()), 'Names, versions, paths, and hashes of inputs. Never inputs themselves.'),
}

function actionsText(): string {
  return Object.entries(auditActions)
    .map(([action, meaning]) => `\`${action}\`: ${meaning}`)
    .join(' ')
}

export const ListedEvent = namedObject('AuditEvent', 'Who did what. An event is sealed a second after the act.', {
  ...eventFields,
  seq: orNull(Type.Integer(), 'The number in the chain of the tenant, from 1 without gaps. Null until the event is sealed.'),
  hash: orNull(Type.String(), 'SHA-256 over the hash before and the event, in hex. Null until the event is sealed.'),
})

const Page = namedObject('AuditPage', { events: Type.Array(ListedEvent), ...pageFields })

const headFields = {
  seq: Type.Integer({ description: 'The number of the event that the head signs.' }),
  hash: Type.String({ description: 'The hash of the event.' }),
  at: dateTime('When the head was signed.'),
  jws: Type.String({ description: 'The signature, as a compact JWS with EdDSA.' }),
}

const Head = namedObject('AuditHead', 'A signed position in the chain of the tenant.', {
  ...headFields,
  kind: Type.Enum(['head', 'cut'], { description: '`cut`: the events up to here were removed by `retention.audit`.' }),
  kid: Type.String({ description: 'The key of the signature.' }),
})

const seq = Type.Integer({ description: 'The number in the chain of the tenant.' })

const Line = named(
  'AuditLine',
  Type.Union([
    object('An event with its place in the chain.', {
      type: Type.Literal('event'),
      tenant: Type.String(),
      ...eventFields,
      seq,
      prev_hash: Type.String({ description: 'The hash of the event before; 64 zeros for the first.' }),
      hash: Type.String(),
    }),
    object('A signed position: `head` behind the event that it signs, `cut` where `retention.audit` has removed all events before.', {
      type: Type.Enum(['head', 'cut']),
      tenant: Type.String(),
      ...headFields,
    }),
  ]),
)

const exportReply = {
  description: 'One line of JSON after the other.',
  content: { 'application/x-ndjson': { schema: Line } },
  headers: { 'content-disposition': { type: 'string', description: '`attachment` with a file name.' } },
}

const HeadKey = object('A public key of the service.', {
  kty: Type.String(),
  crv: Type.String(),
  x: Type.String(),
  kid: Type.String(),
  alg: Type.String(),
  use: Type.String(),
  exp: Type.Optional(Type.Integer({ description: 'Nothing is signed with the key after this time, in epoch seconds.' })),
})

const HeadPage = namedObject('AuditHeadPage', {
  heads: Type.Array(Head),
  ...pageFields,
  jwks: object('The public keys that verify heads, former keys too.', { keys: Type.Array(HeadKey) }),
})

const exampleSpan = { since: '2026-01-01', until: '2100-01-01' }

const times = { since: Time('Events at this time or later.'), until: Time('Events before this time.') }

const Query = closed({
  action: Type.Optional(Type.Enum(Object.keys(auditActions) as AuditAction[], { description: 'Events of this action.' })),
  actor: NamedText('Events of this actor: a `sub`, `<issuer> <sub>`, or the `jti` of a key.'),
  target: NamedText('Events about exactly this target, such as `tool:refund`.'),
  request_id: NamedText('Events of this run.'),
  ...times,
  limit: pageLimit,
  before: Type.Optional(
    Type.String({
      pattern: '^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$',
      description: 'The `offset` of the page before: this page begins after that page.',
    }),
  ),
})

const note =
  "The ledger of the caller's tenant alone. Events without a tenant, such as changes of the configuration, are in that of the administrators."

interface AuditServices {
  auditReader: AuditReader
  ledgerSource: LedgerSource
  headKeys: () => readonly Static<typeof HeadKey>[]
  auditReads: AuditReads
}

/** Routes of the ledger: who did what. */
export const auditRoutes = [listRoute, exportRoute, headsRoute] as const

function listRoute(app: App, { auditReader, auditReads }: AuditServices): void {
  app.get(
    path,
    route('audit.read', tag, {
      summary: 'List who did what, newest first',
      description: `${note} A page reads at most 10,000 events: with a filter that few events fit, a page may hold fewer events than \`limit\`, or none, and the list goes on with \`before\` while \`has_more\` is true.`,
      text: 'Use it to see who has changed the configuration, who has approved a call, or what a run has done. With `audit.reads`, the read itself is recorded.',
      parameters: { action: 'configuration.changed', actor: 'admin', target: 'tool:refund', ...exampleSpan },
      querystring: Query,
      response: replies({ 200: Page }, 422),
    }),
    async (request) => {
      const { action, actor, target, request_id: requestId, limit, before } = request.query
      const span = spanOf(request.query)
      await auditReads.read(principalOf(request), 'audit')
      return auditReader.list(principalOf(request).tenant, { action, actor, target, requestId, ...span, limit, before })
    },
  )
}

function exportRoute(app: App, { ledgerSource, auditReads }: AuditServices): void {
  app.get(
    `${path}/export`,
    route('audit.read', tag, {
      summary: 'Export the ledger as lines of JSON',
      description: `${note} The sealed events in the order of their \`seq\`, without gaps, and behind an event the heads that sign it. A range of time is a part of the chain.`,
      text: '`agent-core audit verify FILE` checks the file without a network. The export itself is recorded, always. The answer is a stream: a reader that reads slowly slows the export down.',
      parameters: exampleSpan,
      querystring: closed(times),
      response: replies({ 200: exportReply }, 422),
    }),
    async (request, reply) => {
      const span = spanOf(request.query)
      const { since, until } = request.query
      await auditReads.exported(principalOf(request), { ...(since !== undefined && { since }), ...(until !== undefined && { until }) })
      const lines = exportLines(ledgerSource, { tenant: principalOf(request).tenant, ...span })
      return reply
        .header('content-type', 'application/x-ndjson')
        .header('content-disposition', 'attachment; filename="audit.ndjson"')
        .header('cache-control', 'no-store')
        .send(Readable.from(inChunks(lines), { highWaterMark: 1 }))
    },
  )
}

/** Characters of lines that are sent at once. */
const chunkLength = 64 * 1024

async function* inChunks(lines: AsyncIterable<string>): AsyncGenerator<string, void> {
  let chunk = ''
  for await (const line of lines) {
    chunk += line
    if (chunk.length < chunkLength) continue
    yield chunk
    chunk = ''
  }
  if (chunk !== '') yield chunk
}

function headsRoute(app: App, { auditReader, auditReads, headKeys }: AuditServices): void {
  app.get(
    `${path}/heads`,
    route('audit.read', tag, {
      summary: 'List the signed heads of the ledger, newest first',
      description: `${note} A head signs the number and the hash of an event, each hour and at each 1,000 events.`,
      text: 'Keep heads elsewhere: a head that lies elsewhere alone shows that the end of the ledger was cut off.',
      querystring: closed({ limit: pageLimit, before: Offset }),
      response: replies({ 200: HeadPage }, 422),
    }),
    async (request) => {
      const { limit, before } = request.query
      const position = before === undefined ? undefined : toHeadPosition(before)
      await auditReads.read(principalOf(request), 'audit:heads')
      const matches = await auditReader.heads(principalOf(request).tenant, { limit: limit + 1, before: position })
      const heads = matches.slice(0, limit)
      const last = heads.at(-1)
      return {
        heads: heads.map(({ seq, kind, hash, at, kid, jws }) => ({ seq, kind, hash, at, kid, jws })),
        offset: last ? toOffset([last.seq, last.kind]) : '',
        has_more: matches.length > limit,
        jwks: { keys: [...headKeys()] },
      }
    },
  )
}

function toHeadPosition(offset: string) {
  const [seq, kind, ...more] = parsePosition(offset) ?? []
  if (!Number.isSafeInteger(seq) || typeof kind !== 'string' || more.length > 0)
    throw invalid(['query', 'before'], 'is not the offset of a page of this list')
  return { seq: Number(seq), kind }
}

function spanOf(query: { since?: string; until?: string }) {
  const [since, until] = [toTime('since', query.since), toTime('until', query.until)]
  if (since !== undefined && until !== undefined && until < since) throw invalid(['query', 'until'], 'is before since')
  return { since, until }
}
