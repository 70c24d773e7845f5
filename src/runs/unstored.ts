/**
 * What of a chat is not kept. An unstored run exists for its recovery and for repeats of its request id: lists leave the run out, readers
 * do not find the run after its end, and a job removes the run soon after. `session`: its session too, which the run has alone. A later chat
 * that names the session keeps the session.
 */
export type Unstored = 'run' | 'session'

/** How long an ended unstored run answers repeats of its request id, in milliseconds. */
export const unstoredMs = 600_000

/** Whether readers may find the run by its id. An unended run is followed, cancelled and decided on, stored or not. */
export function isReadable({ isUnstored, endedAt }: { isUnstored?: boolean; endedAt: number | undefined }): boolean {
  return !isUnstored || endedAt === undefined
}
