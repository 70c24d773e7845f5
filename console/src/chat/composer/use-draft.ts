import { useEffect, useMemo, useRef, useState } from 'react'
import { createDrafts } from '../../api/drafts.ts'
import { callerOf, useMe } from '../../api/me.ts'

const saveAfterMs = 300

/** The text of an unsent question, kept in `localStorage`: the text, a setter, and a function that removes the text. */
export function useDraft(sessionId: string): [text: string, setText: (text: string) => void, forget: () => void] {
  const me = useMe().data
  const caller = me ? callerOf(me) : ''
  const drafts = useMemo(() => createDrafts(localStorage, caller), [caller])
  const [text, setText] = useState(() => drafts.load(sessionId))
  const latest = useRef(text)
  const timer = useRef<number>(undefined)
  const save = useMemo(() => () => drafts.save(sessionId, latest.current), [drafts, sessionId])
  useEffect(() => {
    const saveNow = () => {
      clearTimeout(timer.current)
      save()
    }
    addEventListener('pagehide', saveNow)
    return () => {
      removeEventListener('pagehide', saveNow)
      saveNow()
    }
  }, [save])
  function change(changed: string) {
    setText(changed)
    latest.current = changed
    clearTimeout(timer.current)
    timer.current = window.setTimeout(save, saveAfterMs)
  }
  function forget() {
    change('')
    save()
  }
  return [text, change, forget]
}
