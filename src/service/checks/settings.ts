import type { Finding } from '../../models/check-models.ts'
import type { Settings } from '../../settings/settings.ts'

/** States where the service listens and stores its data. */
export function describeSettings({ host, port, workers, databaseUrl }: Settings): Finding {
  const processes = workers > 1 ? ` with ${workers} workers` : ''
  return {
    state: 'ok',
    text: `settings: listens on ${host}:${port}${processes}, stores data in ${databaseUrl === undefined ? 'SQLite' : 'Postgres'}`,
  }
}
