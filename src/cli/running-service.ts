import { rmSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import type { Settings } from '../settings/settings.ts'
import { isHeld, holdDataDir } from '../store/sqlite/data-dir.ts'
import { InvalidArgumentError } from 'commander'
import { CommandFailure, type Terminal } from './terminal.ts'
import { messageOf } from '../errors.ts'

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

/** Address and key of the service that a command calls. */
export interface ServiceOptions {
  url?: string
  /** A key, or `@FILE`. */
  key?: string
}

/** Reads the access key. The admin key is sent only to the service that created the key. */
export async function readKey(
  { url, key }: ServiceOptions,
  { dataDir }: Pick<Settings, 'dataDir'>,
  { terminal, isOwn }: { terminal: Terminal; isOwn: boolean },
): Promise<string> {
  if (key !== undefined && !key.startsWith('@')) return key
  if (key === undefined && !isOwn)
    throw new CommandFailure(2, [
      `admin.key goes only to the running service of DATA_DIR. Pass a key for ${url} with --key KEY or --key @FILE.`,
    ])
  const file = key === undefined ? path.join(dataDir, 'admin.key') : path.resolve(terminal.cwd, key.slice(1))
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new CommandFailure(2, [`${file} cannot be read (${error.code}). Pass a key with --key KEY or --key @FILE.`])
  })
  return text.trim()
}

/** The service that a command asks: that of `--url`, else the running service of the data directory or a replica with these settings. */
export async function reachService({ url }: ServiceOptions, settings: Settings): Promise<{ url: string; isOwn: boolean }> {
  const ownUrl = await findService(settings)
  if (url !== undefined) return { url, isOwn: url === ownUrl }
  return { url: ownUrl ?? addressOfReplica(settings), isOwn: true }
}

/** The address of a replica with these settings. Without Postgres, a service that does not answer is no service. */
export function addressOfReplica({ databaseUrl, host, port }: Settings): string {
  if (databaseUrl !== undefined) return addressOf(host, port)
  throw new CommandFailure(1, ['No service of DATA_DIR is running. Start one with "agent-core serve", or name another with --url.'])
}

/** Parses the value of `--url`: an address without a slash at the end. */
export function toUrl(text: string): string {
  const url = URL.parse(text)
  if (url && /^https?:$/.test(url.protocol) && !url.search && !url.hash && !url.username) return url.href.replace(/(?<!\/)\/+$/, '')
  throw new InvalidArgumentError('The value must be an address such as http://127.0.0.1:8080.')
}

/** Locks the data directory for this process; fails if another process holds the lock. */
export function hold({ dataDir, databaseUrl }: Settings): { release(): void } {
  // Processes with a shared database share nothing in their data directories.
  if (databaseUrl !== undefined) return { release: () => undefined }
  try {
    const lock = holdDataDir(dataDir)
    // A killed service leaves its address behind.
    withdraw(dataDir)
    return {
      release() {
        withdraw(dataDir)
        lock.release()
      },
    }
  } catch (error) {
    throw new CommandFailure(1, [messageOf(error)])
  }
}

/** Throws a failure that names the settings to change. */
export function failToListen(error: unknown, { host, port }: Pick<Settings, 'host' | 'port'>): never {
  const { code } = error as NodeJS.ErrnoException
  throw new CommandFailure(1, [`Cannot listen on ${host}:${port} (${code}). Set PORT or HOST to another value.`])
}

/** Local address of a listening socket. The public address (PUBLIC_URL) may differ. */
export function addressOf(host: string, port: number): string {
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`
}
