import { useEffect } from 'react'
import { useSearchParams } from 'wouter'

/** Puts the question of the address, such as `/chat?question=Hello`, into the field. The address loses the question, so that a reload keeps the draft. */
export function useQuestionOfAddress(setText: (text: string) => void): void {
  const [search, setSearch] = useSearchParams()
  const question = search.get('question')
  useEffect(() => {
    if (question === null) return
    setText(question)
    setSearch(
      (current) => {
        current.delete('question')
        return current
      },
      { replace: true },
    )
  })
}

/** Address of a conversation whose composer has a question; of a new conversation without a session. */
export function addressOfQuestion(question: string, session?: string): string {
  const path = session === undefined ? '/chat' : `/chat/${encodeURIComponent(session)}`
  return `${path}?${new URLSearchParams({ question }).toString()}`
}
