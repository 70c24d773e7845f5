import { makeSnapshot, startInterpreter, type Interpreter } from './interpreter.ts'
import type { AnswerLimits } from './check-report.ts'
import { createSnapshotFile } from './snapshot.ts'

const defaultAnswers: AnswerLimits = { maxCharacters: 10_000, written: { files: 20, bytes: 50 * 1024 * 1024 } }

/** Returns a function which starts Python processes from a snapshot in `cacheDir`. The first start makes the snapshot. */
export function createStarter(memoryMb: number, cacheDir: string, answers: AnswerLimits = defaultAnswers): () => Promise<Interpreter> {
  let isIsolated = true
  const snapshot = createSnapshotFile(cacheDir, () => attempt((isIsolated) => makeSnapshot({ memoryMb, isIsolated, answers })))

  /** Falls back to a start without system isolation, for systems where isolation is allowed but no program runs in it. Stays isolated if both fail. */
  async function attempt<T>(work: (isIsolated: boolean) => Promise<T>): Promise<T> {
    try {
      return await work(isIsolated)
    } catch (error) {
      if (!isIsolated) throw error
      const result = await work(false)
      isIsolated = false
      return result
    }
  }

  return async () => {
    const file = await snapshot.path()
    try {
      return await startInterpreter({ memoryMb, isIsolated, answers }, file)
    } catch {
      await snapshot.discard()
      const freshFile = await snapshot.path()
      return attempt((isIsolated) => startInterpreter({ memoryMb, isIsolated, answers }, freshFile))
    }
  }
}
