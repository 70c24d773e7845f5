import { useEffect, useMemo, useRef, useState } from 'react'
import { useMe } from '../api/me.ts'
import { createDraftStore } from './draft-store.ts'
import type { StoredText } from './queries.ts'
import type { SchemaNode } from './schema/schema-node.ts'
import { withoutSecrets } from './schema/secrets.ts'

const saveAfterMs = 400

/** The text that is being edited. */
export interface EditedText {
  text: string
  /** The stored text that the changes were made to. */
  base: StoredText
  isChanged: boolean
  /** The stored text of somebody else's change, which the draft does not contain. */
  newer: StoredText | undefined
  /** True if the draft was stored without secrets. */
  lacksSecrets: boolean
  setText(text: string): void
  /** Goes on with the draft, or with `text`, as a change of `base`. */
  rebase(base: StoredText, text?: string): void
  /** Takes the stored text in place of the draft. */
  discard(): void
}

/** Keeps a draft of agent.yaml: over reloads in `localStorage`, and beside a stored text that changes meanwhile. */
export function useDraft(stored: StoredText, schema: SchemaNode): EditedText {
  const me = useMe().data
  const caller = me ? `${me.tenant} ${me.issuer} ${me.sub}` : ''
  const store = useMemo(() => createDraftStore(localStorage, caller), [caller])
  const [kept] = useState(store.load)
  const [draft, setDraft] = useState(() => ({ base: kept?.base ?? stored, text: kept?.text ?? stored.text }))
  const current = follow(draft, stored)
  if (current !== draft) setDraft(current)
  const { base, text } = current
  const isChanged = text !== base.text

  const lacksSecrets = kept?.lacksSecrets === true && isChanged
  const latest = useRef<() => void>(undefined)
  latest.current = () => {
    const keptText = isChanged ? withoutSecrets(text, schema) : text
    store.save(isChanged ? { base, text: keptText, lacksSecrets: lacksSecrets || keptText !== text } : undefined)
  }
  useEffect(() => {
    const timer = setTimeout(() => latest.current?.(), saveAfterMs)
    return () => clearTimeout(timer)
  }, [base, text])
  useEffect(() => {
    const save = (): void => latest.current?.()
    addEventListener('pagehide', save)
    return () => {
      removeEventListener('pagehide', save)
      save()
    }
  }, [])

  return {
    text,
    base,
    isChanged,
    newer: base.version === stored.version ? undefined : stored,
    lacksSecrets,
    setText: (text) => setDraft((before) => ({ ...before, text })),
    rebase: (base, text) => setDraft((before) => ({ base, text: text ?? before.text })),
    discard: () => setDraft({ base: stored, text: stored.text }),
  }
}

/** A text without changes follows the stored one. A draft does too where the stored text is the same, or already what the draft says. */
function follow(draft: { base: StoredText; text: string }, stored: StoredText): { base: StoredText; text: string } {
  if (draft.base === stored) return draft
  const isUntouched = draft.text === draft.base.text
  if (isUntouched || draft.text === stored.text) return { base: stored, text: stored.text }
  return stored.text === draft.base.text ? { base: stored, text: draft.text } : draft
}
