import { readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'

/** Where the service of a data directory can be reached, for commands that talk to it. */

const fileOf = (dataDir: string) => path.join(dataDir, 'service.json')

export async function announce(dataDir: string, url: string): Promise<void> {
  await writeFile(fileOf(dataDir), `${JSON.stringify({ url })}\n`, { mode: 0o600 })
}

/** The address of the service that uses this data directory, if one answers there. */
export async function findService(dataDir: string): Promise<string | undefined> {
  try {
    const { url } = JSON.parse(await readFile(fileOf(dataDir), 'utf8')) as { url: string }
    const reply = await fetch(`${url}/health`, { signal: AbortSignal.timeout(2000) })
    return reply.ok ? url : undefined
  } catch {
    return undefined
  }
}
