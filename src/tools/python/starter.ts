import { makeSnapshot, startInterpreter, type Interpreter } from './interpreter.ts'
import { createSnapshotFile } from './snapshot.ts'

/** Starts Python processes from a snapshot in `cacheDir`, which the first of them makes. */
export function createStarter(memoryMb: number, cacheDir: string): () => Promise<Interpreter> {
  let isIsolated = true
  const snapshot = createSnapshotFile(cacheDir, () => attempt(() => makeSnapshot({ memoryMb, isIsolated })))

  /** Where a system allows a network of one's own and then no program in it, the other walls must do. */
  async function attempt<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } catch {
      isIsolated = false
      return work()
    }
  }

  const start = async () => startInterpreter({ memoryMb, isIsolated }, await snapshot.path())

  return async () => {
    try {
      return await start()
    } catch {
      await snapshot.discard()
      return attempt(start)
    }
  }
}
