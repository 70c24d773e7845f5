import { existsSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import type { TestContext } from 'node:test'
import { startSampleService } from '../fixtures/sample-service.ts'
import { startService, type TestService } from '../fixtures/service.ts'
import { createClient, type Client } from '../fixtures/service-client.ts'
import type { Call } from './question.ts'
import { toPlain } from './items.ts'

/** A running agent that questions are put to. */
export interface SetUp {
  client: Client
  /** Plain text of its documents. */
  documents: string
  /** Calls of `write` tools in a turn: those that were made, and the names of tools that refused the arguments. */
  writesOf(session: string, steps: Step[]): Writes
}

export interface Writes {
  calls: Required<Call>[]
  attempts: string[]
}

export interface Step {
  type: string
  tool: string
  tool_input: Record<string, unknown>
  output: unknown
}

const shopFolder = path.join(import.meta.dirname, 'shop')
const sampleFiles = path.join(import.meta.dirname, '../../samples/files')
/** Tools that change nothing. Any other tool counts as a write. */
const sampleReads = ['calculator', 'current_time', 'list_files', 'read_file', 'handbook', 'sales', 'chart']
const shopReads = ['calculator', 'current_time', 'shop', 'policies', 'order_status', 'check_stock']

export async function startSamples(t: TestContext): Promise<SetUp> {
  const service = await startSampleService(t)
  const documents = readTexts(path.join(sampleFiles, 'handbook'))
  const writesOf = (_session: string, steps: Step[]) => ({ calls: findWrites(steps, sampleReads), attempts: [] })
  return { client: await clientOf(service), documents, writesOf }
}

/** Starts the shop. Its tools record their calls in a file: what they did counts, not what the answer says. */
export async function startShop(t: TestContext, folder: string): Promise<SetUp> {
  const recorded = path.join(folder, 'calls.jsonl')
  const yaml = readFileSync(path.join(shopFolder, 'agent.yaml'), 'utf8').replaceAll('${TOOLS}', path.join(shopFolder, 'tools'))
  const files = readFiles(path.join(shopFolder, 'files'))
  const service = await startService(t, { yaml, files, environment: { SHOP_CALLS: recorded } })
  const documents = readTexts(path.join(shopFolder, 'files/policies'))
  const seen = new Map<string, number>()
  const writesOf = (session: string, steps: Step[]) => {
    const made = readCalls(recorded).filter((call) => call.session === session)
    const before = seen.get(session) ?? 0
    seen.set(session, made.length)
    const calls = made.slice(before).map(({ tool, input }) => ({ tool, input }))
    const attempts = findWrites(steps, shopReads).map(({ tool }) => tool)
    for (const { tool } of calls) if (attempts.includes(tool)) attempts.splice(attempts.indexOf(tool), 1)
    return { calls, attempts }
  }
  return { client: await clientOf(service), documents, writesOf }
}

/** A client that does not compare each reply with the OpenAPI document. */
async function clientOf({ url, key }: TestService): Promise<Client> {
  return createClient(url, (await key()).key)
}

function findWrites(steps: Step[], reads: string[]): Required<Call>[] {
  const writes = steps.filter(({ type, tool }) => type === 'tool_call' && !reads.includes(tool))
  return writes.map(({ tool, tool_input: input }) => ({ tool, input }))
}

function readCalls(file: string): (Required<Call> & { session: string })[] {
  if (!existsSync(file)) return []
  return readFileSync(file, 'utf8')
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line))
}

function readFiles(folder: string): Record<string, Uint8Array> {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  const paths = entries.map((entry) => path.join(entry.parentPath, entry.name))
  return Object.fromEntries(paths.map((file) => [path.relative(folder, file), readFileSync(file)]))
}

function readTexts(folder: string): string {
  const texts = Object.values(readFiles(folder)).map((bytes) => Buffer.from(bytes).toString())
  return toPlain(
    texts
      .join('\n')
      .replaceAll(/<[^>]*>/g, ' ')
      .replaceAll(/^\s*(?:[-*]|\d+\.)\s/gm, ' '),
  )
}
