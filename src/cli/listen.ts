import type { Settings } from '../settings/settings.ts'
import { CommandFailure } from './terminal.ts'

/** Throws a failure that names the settings to change. */
export function failToListen(error: unknown, { host, port }: Pick<Settings, 'host' | 'port'>): never {
  const { code } = error as NodeJS.ErrnoException
  throw new CommandFailure(1, [`Cannot listen on ${host}:${port} (${code}). Set PORT or HOST to another value.`])
}

/** Local address of a listening socket. The public address (PUBLIC_URL) may differ. */
export function addressOf(host: string, port: number): string {
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`
}
