import { createHash } from 'node:crypto'
import { tmpdir } from 'node:os'
import { pino } from 'pino'
import { openHttp } from '../../src/service/http.ts'
import { loadSettings } from '../../src/settings/settings.ts'

/** The part of the OpenAPI document that the client's types come from. */
export interface ClientInterface {
  document: object
  /** SHA-256 of `document` and `generatorOptions`, whatever the order of fields. */
  hash: string
}

/** Options of the generator, openapi-typescript. */
export const generatorOptions: readonly string[] = ['--default-non-nullable', 'false', '--empty-objects-unknown']

interface Operation {
  responses: Record<string, Record<string, unknown>>
}

export interface OpenApiDocument {
  openapi: string
  paths: Record<string, Record<string, Operation>>
  components: { schemas: Record<string, object> }
}

/** Paths of other protocols, which have clients of their own. */
const otherProtocols = /^\/(v1|mcp|a2a|ag-ui|ui|metrics|\.well-known)(\/|$)/

/** Reads the interface that the client is generated from. */
export async function readInterface(): Promise<ClientInterface> {
  const document = selectForClient(await readDocument())
  const source = JSON.stringify(sortFields({ document, generatorOptions }))
  return { document, hash: createHash('sha256').update(source).digest('hex') }
}

/** Builds the routes without the services behind them, and reads their OpenAPI document. */
export async function readDocument(): Promise<OpenApiDocument> {
  await using stack = new AsyncDisposableStack()
  const { allRoutes } = await openHttp(stack, {
    settings: loadSettings({}, tmpdir()),
    version: '0.0.0',
    log: pino({ level: 'silent' }),
    verifier: createStub(),
    keyUse: createStub(),
    consoleSessions: createStub(),
    denials: createStub(),
    limits: createStub(),
    newId: createStub(),
    meter: createStub(),
    services: createStub(),
    address: createStub(),
    onListen: createStub(),
  })
  return (await allRoutes()).swagger() as unknown as OpenApiDocument
}

/**
 * Leaves out the parts that the client's types do not state: all other protocols, error replies (all become one error class), headers
 * of replies, and examples.
 */
function selectForClient({ openapi, paths, components }: OpenApiDocument): object {
  const ownPaths = Object.keys(paths).filter((path) => !otherProtocols.test(path))
  return withoutExamples({
    openapi,
    info: { title: 'Agent Core', version: '0.0.0' },
    paths: Object.fromEntries(ownPaths.toSorted().map((path) => [path, selectOperations(paths[path]!)])),
    components: { schemas: components.schemas },
  })
}

function selectOperations(operations: Record<string, Operation>): object {
  return Object.fromEntries(Object.entries(operations).map(([method, operation]) => [method, selectReplies(operation)]))
}

function selectReplies({ responses, ...operation }: Operation): object {
  const successes = Object.entries(responses).filter(([status]) => status.startsWith('2'))
  return {
    ...operation,
    responses: Object.fromEntries(successes.map(([status, { headers: _headers, ...reply }]) => [status, reply])),
  }
}

/** Keeps fields of schemas that are named `example`. */
function withoutExamples<T>(value: T, isNames = false): T {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map((element: unknown) => withoutExamples(element)) as T
  const fields = Object.entries(value).filter(([name]) => isNames || (name !== 'example' && name !== 'examples'))
  return Object.fromEntries(fields.map(([name, field]) => [name, withoutExamples(field, name === 'properties' && !isNames)])) as T
}

/** A value that can be read and called in any way. Routes are registered with such services, which no request ever reaches. */
function createStub(): never {
  const stub: object = new Proxy(() => undefined, {
    get: (_target, name) => (name === 'then' ? undefined : stub),
    apply: () => stub,
  })
  return stub as never
}

function sortFields(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(sortFields)
  const fields = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1))
  return Object.fromEntries(fields.map(([name, field]) => [name, sortFields(field)]))
}
