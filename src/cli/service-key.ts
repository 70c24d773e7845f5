import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { InvalidArgumentError } from 'commander'
import type { Settings } from '../settings/settings.ts'
import { CommandFailure, type Terminal } from './terminal.ts'

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

/** Parses the value of `--url`: an address without a slash at the end. */
export function toUrl(text: string): string {
  const url = URL.parse(text)
  if (url && /^https?:$/.test(url.protocol) && !url.search && !url.hash && !url.username) return url.href.replace(/(?<!\/)\/+$/, '')
  throw new InvalidArgumentError('The value must be an address such as http://127.0.0.1:8080.')
}
