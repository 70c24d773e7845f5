import { ofKind } from '../history/operations.ts'
import type { Facts } from './facts.ts'

/** Memories stay until their deletion, never come back, and have no duplicates. */
export function checkMemories({ history }: Facts): string[] {
  const lists = ofKind(history, 'list memories').filter(({ result }) => result === 'ok')
  const deletions = ofKind(history, 'forget memory')
  return [...Map.groupBy(lists, ({ args }) => args.caller)].flatMap(([caller, callerLists]) => {
    const sorted = callerLists.toSorted((a, b) => a.invokedAt - b.invokedAt)
    const firstShown = new Map<string, number>()
    for (const { reply, endedAt } of sorted)
      for (const { id } of reply!.memories) firstShown.set(id, Math.min(firstShown.get(id) ?? Infinity, endedAt))
    return sorted.flatMap(({ reply, invokedAt, endedAt, process }) => {
      const ids = new Set(reply!.memories.map(({ id }) => id))
      const contents = reply!.memories.map(({ content }) => content)
      const missing = [...firstShown].filter(([id, at]) => {
        const isForgotten = deletions.some(
          (deletion) => deletion.args.id === id && deletion.result !== 'fail' && deletion.invokedAt < endedAt,
        )
        return at < invokedAt && !ids.has(id) && !isForgotten
      })
      const back = deletions.filter(({ args, result, endedAt: at }) => result === 'ok' && at < invokedAt && ids.has(args.id))
      return [
        ...missing.map(([id]) => `memories of ${caller}: ${process} lacks ${id}`),
        ...back.map(({ args }) => `memories of ${caller}: ${process} shows ${args.id} after its deletion`),
        ...(new Set(contents).size < contents.length ? [`memories of ${caller}: ${process} shows one twice`] : []),
      ]
    })
  })
}
