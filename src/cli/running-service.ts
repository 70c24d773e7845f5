import { rmSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import type { Settings } from '../settings/settings.ts'
import { isHeld } from '../store/sqlite/data-dir.ts'

/** Where the service of a data directory can be reached, for commands that talk to it. */

const fileOf = (dataDir: string) => path.join(dataDir, 'service.json')

export async function announce(dataDir: string, url: string): Promise<void> {
  await writeFile(fileOf(dataDir), `${JSON.stringify({ url })}\n`, { mode: 0o600 })
}

/** Before the service stops to listen: whoever listens there next must not be taken for it. */
export function withdraw(dataDir: string): void {
  rmSync(fileOf(dataDir), { force: true })
}

/** The address of the service that holds this data directory now, if one answers there. With Postgres nothing is held: undefined. */
export async function findService({ dataDir, databaseUrl }: Pick<Settings, 'dataDir' | 'databaseUrl'>): Promise<string | undefined> {
  try {
    if (databaseUrl !== undefined || !isHeld(dataDir)) return undefined
    const { url } = JSON.parse(await readFile(fileOf(dataDir), 'utf8')) as { url: string }
    const reply = await fetch(`${url}/health`, { signal: AbortSignal.timeout(2000) })
    return reply.ok ? url : undefined
  } catch {
    return undefined
  }
}
