import type { Search } from '../../search/retriever.ts'
import { openDocumentIndex, type DocumentIndex, type DocumentIndexOptions } from './document-index.ts'

interface SharedIndex {
  index: Promise<DocumentIndex>
  /** Names of the entries that use the index. */
  users: string[]
}

/** Open indexes by their files. A closed index stays until it is closed: a retriever of one name is open once at a time. */
const indexesOf = new WeakMap<Search, Map<string, SharedIndex>>()

/**
 * Opens the index of files, or returns the open one: two entries with the same patterns, or two versions of the configuration, share an index.
 * The last `close` closes it. `user` is the name of the entry.
 */
export async function shareDocumentIndex(
  user: string,
  options: Omit<DocumentIndexOptions, 'label'>,
): Promise<{ index: DocumentIndex; close(): Promise<void> }> {
  const indexes = indexesOf.get(options.search) ?? new Map<string, SharedIndex>()
  indexesOf.set(options.search, indexes)
  const key = JSON.stringify([options.files.path, options.cacheDir, options.patterns])
  const former = indexes.get(key)
  const users: string[] = []
  const label = () => [...new Set(users)].join(', ')
  const isOpen = former !== undefined && former.users.length > 0
  const shared = isOpen ? former : { index: openAfter(former, { ...options, label }), users }
  shared.users.push(user)
  indexes.set(key, shared)

  async function release(): Promise<void> {
    shared.users.splice(shared.users.indexOf(user), 1)
    if (shared.users.length > 0) return
    await shared.index.then((index) => index.close()).catch(() => undefined)
    if (indexes.get(key) === shared) indexes.delete(key)
  }

  try {
    return { index: await shared.index, close: release }
  } catch (error) {
    await release()
    throw error
  }
}

async function openAfter(former: SharedIndex | undefined, options: DocumentIndexOptions): Promise<DocumentIndex> {
  await former?.index.then((index) => index.close()).catch(() => undefined)
  return openDocumentIndex(options)
}
