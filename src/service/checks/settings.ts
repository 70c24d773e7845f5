import type { Finding } from '../../models/check-models.ts'
import type { Settings } from '../../settings/settings.ts'

/** Warns where metadata for OAuth clients depends on the headers of each request. */
export function checkPublicUrl({ accessProvider, publicUrl }: Pick<Settings, 'accessProvider' | 'publicUrl'>): Finding[] {
  if (accessProvider === undefined || publicUrl !== undefined) return []
  return [
    {
      state: 'warn',
      text: 'settings: OAuth metadata of /mcp names the host of each request, because PUBLIC_URL is not set',
      advice: 'Set PUBLIC_URL to the address that clients use, so that requests with another Host get no other address.',
    },
  ]
}

/** States where the service listens and stores its data. */
export function describeSettings({ host, port, workers, databaseUrl }: Settings): Finding {
  const processes = workers > 1 ? ` with ${workers} workers` : ''
  return {
    state: 'ok',
    text: `settings: listens on ${host}:${port}${processes}, stores data in ${databaseUrl === undefined ? 'SQLite' : 'Postgres'}`,
  }
}
