import type { Client, Experiment } from '../../../client/src/index.ts'
import { withoutControls } from '../chat/markdown-stream.ts'
import { newWrites } from './report.ts'
import { CommandFailure, type Terminal } from '../terminal.ts'

/** Milliseconds between two reads of an experiment. */
const intervalMs = 500

/** Reads while the service is away, such as during a restart: an experiment goes on afterwards. */
const retries = 10

/** Waits until an experiment has ended, and shows its progress on a terminal. When the command is stopped, the experiment is cancelled. */
export async function follow(client: Client, id: string, { stderr, stopping }: Terminal): Promise<Experiment> {
  const show = (text: string) => void (stderr.isTTY && stderr.write(`\r\u001B[K${withoutControls(text)}`))
  const onProgress = ({ done, total, effects }: Experiment) =>
    show(`${done} of ${total} replayed, ${newWrites(effects)} writes added or changed`)
  try {
    return await client.evals.experiments.wait(id, { intervalMs, retries, onProgress, signal: stopping })
  } catch (error) {
    if (!stopping.aborted) throw error
    throw new CommandFailure(2, [await cancel(client, id)])
  } finally {
    show('')
  }
}

/** Cancels an experiment that has not ended: the same request would delete an ended one. */
async function cancel({ evals: { experiments } }: Client, id: string): Promise<string> {
  const options = { signal: AbortSignal.timeout(5000) }
  try {
    const { status } = await experiments.get(id, options)
    if (status !== 'pending' && status !== 'running') return `Experiment ${id} has ended before it was cancelled.`
    await experiments.delete(id, options)
    return `Experiment ${id} was cancelled.`
  } catch {
    return `Experiment ${id} could not be cancelled, and may go on.`
  }
}
