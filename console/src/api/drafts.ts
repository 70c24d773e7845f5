/** The part of `localStorage` that drafts need. */
export type DraftStorage = Pick<Storage, 'getItem' | 'setItem' | 'removeItem' | 'key' | 'length'>

/** Unsent questions by session, kept over a reload. */
export interface Drafts {
  load(sessionId: string): string
  /** Saves a draft; an empty text removes it. A full storage is not an error: the draft is then lost with the page. */
  save(sessionId: string, text: string): void
  /** Removes every draft of the caller. */
  clear(): void
}

const maxDrafts = 50
const maxCharacters = 100_000

/** Creates the drafts of one caller, named by tenant, issuer and `sub`. The oldest drafts make room for new ones. */
export function createDrafts(storage: DraftStorage, caller: string): Drafts {
  const prefix = `agent-core:draft:${caller}:`
  const keys = () => Array.from({ length: storage.length }, (_, index) => storage.key(index) ?? '').filter((key) => key.startsWith(prefix))
  return {
    load: (sessionId) => read(storage.getItem(prefix + sessionId)).text,
    save(sessionId, text) {
      if (text === '') return storage.removeItem(prefix + sessionId)
      const stored = text.slice(0, maxCharacters)
      try {
        storage.setItem(prefix + sessionId, JSON.stringify({ at: Date.now(), text: stored }))
      } catch {
        return
      }
      const old = keys().toSorted((a, b) => read(storage.getItem(b)).at - read(storage.getItem(a)).at)
      for (const key of old.slice(maxDrafts)) storage.removeItem(key)
    },
    clear() {
      for (const key of keys()) storage.removeItem(key)
    },
  }
}

function read(value: string | null): { at: number; text: string } {
  try {
    const { at, text } = JSON.parse(value ?? '') as { at?: unknown; text?: unknown }
    return { at: typeof at === 'number' ? at : 0, text: typeof text === 'string' ? text : '' }
  } catch {
    return { at: 0, text: '' }
  }
}
