import { ServiceError } from '../errors.ts'
import { editYaml } from './change/edit-yaml.ts'
import type { RequestedChange } from './change/state.ts'
import type { ConfigurationHistory, ConfigurationUpdate, HistoryPage } from './configuration.ts'
import type { ConfigurationStore } from './configuration-store.ts'
import { parseSource } from './source.ts'

/** Reads one page of the recorded versions. */
export async function readHistory(store: ConfigurationStore, { limit, before }: HistoryPage): Promise<ConfigurationHistory> {
  const versions = await store.page(limit + 1, before)
  return { versions: versions.slice(0, limit), hasMore: versions.length > limit }
}

/** The change that an update asks for. For a restoration, the text of the recorded version; throws `not_found` for an unknown version. */
export async function toRequestedChange(change: ConfigurationUpdate['change'], store: ConfigurationStore): Promise<RequestedChange> {
  if (change.kind !== 'restore') return change
  const former = await store.find(change.version)
  if (!former) throw new ServiceError('not_found', `There is no version ${JSON.stringify(change.version)} of the configuration.`)
  const { text, used } = former
  // A version that was in memory only has changes beside its text.
  return { kind: 'text', text: used ? editYaml(text, parseSource(text).data, used) : text }
}

/** The place of the configuration in the request, for the faults of a change. */
export function placeOf({ kind }: ConfigurationUpdate['change']): readonly string[] {
  return kind === 'patch' ? ['body', 'configuration'] : ['body']
}
