import type { StoredText } from './queries.ts'

/** A text with unsaved changes, and the text before the changes. */
export interface Draft {
  base: StoredText
  text: string
  /** True if the stored text lacks the secrets of the draft. */
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
