import type { StoredText } from './queries.ts'

/** A text with changes that are not saved, and the text that they were made to. */
export interface Draft {
  base: StoredText
  text: string
  /** Whether secrets were left out of the kept text. */
  lacksSecrets: boolean
}

type DraftStorage = Pick<Storage, 'getItem' | 'setItem' | 'removeItem'>

/** The draft of one caller, kept beside the drafts of questions. A full storage is no error: the draft is then lost with the page. */
export function createDraftStore(storage: DraftStorage, caller: string) {
  const key = `agent-core:draft:${caller}:agent.yaml`
  return {
    load(): Draft | undefined {
      try {
        return readDraft(JSON.parse(storage.getItem(key) ?? 'null'))
      } catch {
        return undefined
      }
    },
    save(draft: Draft | undefined): void {
      if (!draft) return storage.removeItem(key)
      try {
        storage.setItem(key, JSON.stringify({ at: Date.now(), ...draft }))
      } catch {
        // The page still holds the draft.
      }
    },
  }
}

function readDraft(value: unknown): Draft | undefined {
  const { base, text, lacksSecrets } = (value ?? {}) as Partial<Draft>
  if (typeof text !== 'string' || typeof base?.text !== 'string' || typeof base.version !== 'string') return undefined
  return { base: { text: base.text, version: base.version }, text, lacksSecrets: lacksSecrets === true }
}
