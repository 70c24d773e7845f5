import { mkdir } from 'node:fs/promises'
import path from 'node:path'
import type { Logger } from 'pino'
import type { Embedder } from '../agent/model.ts'
import type { ArtifactBytes } from '../artifacts/artifact-store.ts'
import { serviceTenant } from '../budgets/budget.ts'
import type { Budgets } from '../budgets/budgets.ts'
import type { CurrentAgent } from '../configuration/agent.ts'
import { openFilesRoot } from '../files/root.ts'
import { createPassageFiles } from '../knowledge/passages.ts'
import { createTenantIndexes } from '../knowledge/tenant-indexes.ts'
import { createGuardedFetch } from '../outbound/guarded-fetch.ts'
import { createEncoder, isEncoderInstalled } from '../search/encoder/encoder.ts'
import { createSearch, type MeterOf } from '../search/search.ts'
import type { Settings } from '../settings/settings.ts'
import type { Database } from '../store/database.ts'
import { createKnowledgeStore } from '../store/documents/knowledge.ts'
import { createVectorStore } from '../store/documents/search-vectors.ts'
import { createPinStore } from '../store/configuration/tool-pins.ts'
import { openLogins } from './logins.ts'

interface ToolPartsOptions {
  database: Database
  settings: Settings
  bytes: ArtifactBytes
  /** Id of this process. */
  id: string
  now(): number
  log: Logger
}

/** Wires what tools work with: files, addresses, search, documents of tenants, pins and logins. */
export async function openToolParts(stack: AsyncDisposableStack, { database, settings, bytes, id, now, log }: ToolPartsOptions) {
  const cacheDir = path.join(settings.dataDir, 'cache')
  await mkdir(cacheDir, { recursive: true, mode: 0o700 })
  const files = await openFilesRoot(settings.filesRoot)
  const outbound = stack.adopt(createGuardedFetch({ allowed: settings.outboundAllow }), (guarded) => guarded.close())
  const pins = createPinStore(database)
  const { search, encoder, follow } = openSearch(stack, { database, settings, cacheDir, id, now, log })
  const knowledgeStore = createKnowledgeStore(database)
  const onFault = (err: unknown) => log.warn({ err }, 'Documents of a tenant cannot be indexed')
  const passages = createPassageFiles(bytes)
  const indexes = createTenantIndexes({ store: knowledgeStore, passages, search, onFault })
  const documents = stack.adopt(indexes, (opened) => opened.close())
  const tools = { files, cacheDir, outbound, search, documents, pins, logins: openLogins(database, settings) }
  return { tools, knowledgeStore, encoder, follow }
}

interface SearchOptions extends Omit<ToolPartsOptions, 'bytes'> {
  /** Folder for files that can be made again. */
  cacheDir: string
}

/**
 * Wires search by meaning with `llms.embedding` or the embedded encoder, whose process starts with the first text. Tools need the search before
 * there is an agent: until `follow` names the agent and the budgets, there is no encoder.
 */
function openSearch(stack: AsyncDisposableStack, { database, settings, cacheDir, id, now, log }: SearchOptions) {
  let agent: CurrentAgent | undefined
  let budgets: Pick<Budgets, 'open'> | undefined
  const isAvailable = settings.embeddedEncoder && isEncoderInstalled()
  const embedded = isAvailable ? stack.adopt(createEncoder(), (opened) => opened.close()) : undefined
  const encoder = (): Embedder | undefined => agent && (agent().embedder ?? embedded)
  const store = createVectorStore(database, id)
  const meterOf: MeterOf = (tenant = serviceTenant) =>
    agent?.().config.budgets && budgets?.open({ tenant, operation: 'search', fence: 0 }, agent())
  const onFault = (err: unknown) => log.warn({ err }, 'Search by meaning failed; documents are searched by their words')
  const search = stack.adopt(createSearch({ encoder, meterOf, store, folder: cacheDir, now, onFault }), (opened) => opened.close())
  const follow = (current: CurrentAgent, paying: Pick<Budgets, 'open'>) => {
    agent = current
    budgets = paying
  }
  return { search, encoder, follow }
}
