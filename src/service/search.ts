import type { Logger } from 'pino'
import type { Embedder } from '../agent/model.ts'
import type { CurrentAgent } from '../configuration/agent.ts'
import { createEncoder, isEncoderInstalled } from '../search/encoder/encoder.ts'
import type { Search } from '../search/retriever.ts'
import { createSearch } from '../search/search.ts'
import type { Settings } from '../settings/settings.ts'
import type { Database } from '../store/database.ts'
import { createVectorStore } from '../store/documents/search-vectors.ts'

interface OpenSearchOptions {
  database: Database
  settings: Pick<Settings, 'embeddedEncoder'>
  /** Folder for files that can be made again. */
  cacheDir: string
  /** Id of this process. */
  id: string
  now(): number
  log: Logger
}

interface OpenSearch {
  search: Search
  /** The encoder of search by meaning: `llms.embedding` or the embedded encoder; undefined without both. */
  encoder(): Embedder | undefined
  /** Names the agent, whose tools need the search first. Until then there is no encoder. */
  follow(agent: CurrentAgent): void
}

/** Wires search by meaning. The process of the embedded encoder starts with the first text. */
export function openSearch(stack: AsyncDisposableStack, options: OpenSearchOptions): OpenSearch {
  const { database, settings, cacheDir, id, now, log } = options
  let agent: CurrentAgent | undefined
  const isAvailable = settings.embeddedEncoder && isEncoderInstalled()
  const embedded = isAvailable ? stack.adopt(createEncoder(), (opened) => opened.close()) : undefined
  const encoder = () => agent && (agent().embedder ?? embedded)
  const store = createVectorStore(database, id)
  const onFault = (err: unknown) => log.warn({ err }, 'Search by meaning failed; documents are searched by their words')
  const search = stack.adopt(createSearch({ encoder, store, folder: cacheDir, now, onFault }), (opened) => opened.close())
  return { search, encoder, follow: (current) => void (agent = current) }
}
