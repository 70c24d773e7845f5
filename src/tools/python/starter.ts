import { makeSnapshot, startInterpreter, type Interpreter } from './interpreter.ts'
import type { AnswerLimits } from './check-report.ts'
import { createSnapshotFile } from './snapshot.ts'

const defaultAnswers: AnswerLimits = { maxCharacters: 10_000, written: { files: 20, bytes: 50 * 1024 * 1024 } }

/** Starts Python processes from a snapshot in `cacheDir`, which the first of them makes. */
export function createStarter(memoryMb: number, cacheDir: string, answers: AnswerLimits = defaultAnswers): () => Promise<Interpreter> {
  let isIsolated = true
  const snapshot = createSnapshotFile(cacheDir, () => attempt((isIsolated) => makeSnapshot({ memoryMb, isIsolated, answers })))

  /** Where a system allows a network of one's own and then no program in it, the other walls must do; not where all fails. */
  async function attempt<T>(work: (isIsolated: boolean) => Promise<T>): Promise<T> {
    try {
      return await work(isIsolated)
    } catch (error) {
      if (!isIsolated) throw error
      const made = await work(false)
      isIsolated = false
      return made
    }
  }

  return async () => {
    const file = await snapshot.path()
    try {
      return await startInterpreter({ memoryMb, isIsolated, answers }, file)
    } catch {
      await snapshot.discard()
      const another = await snapshot.path()
      return attempt((isIsolated) => startInterpreter({ memoryMb, isIsolated, answers }, another))
    }
  }
}
