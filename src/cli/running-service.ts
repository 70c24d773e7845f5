import { rmSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import type { Settings } from '../settings/settings.ts'
import { isHeld } from '../store/sqlite/data-dir.ts'

/** The file with the address of the service of a data directory, for commands that call the service. */

const fileOf = (dataDir: string) => path.join(dataDir, 'service.json')

export async function announce(dataDir: string, url: string): Promise<void> {
  await writeFile(fileOf(dataDir), `${JSON.stringify({ url })}\n`, { mode: 0o600 })
}

/** Removes the address. Called before the service stops listening, because another program may listen there next. */
export function withdraw(dataDir: string): void {
  rmSync(fileOf(dataDir), { force: true })
}

/** The address of the service that holds this data directory, if it answers. Undefined with Postgres, which needs no lock. */
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
