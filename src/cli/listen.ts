import type { Settings } from '../settings/settings.ts'
import { CommandFailure } from './terminal.ts'

/** Says in one line which settings to change. */
export function failToListen(error: unknown, { host, port }: Pick<Settings, 'host' | 'port'>): never {
  const { code } = error as NodeJS.ErrnoException
  throw new CommandFailure(1, [`Can't listen on ${host}:${port} (${code}). Set PORT or HOST to another.`])
}

/** How it is reached where it is bound; how others reach it (PUBLIC_URL) may be another. */
export function addressOf(host: string, port: number): string {
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`
}
