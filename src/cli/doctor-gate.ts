import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { parseSource, type ConfigContent } from '../configuration/change/change.ts'
import { createGate, describeRefusal } from '../configuration/change/gate.ts'
import type { ConfigurationStore } from '../configuration/configuration-store.ts'
import { contentOf } from '../configuration/file/file-record.ts'
import type { Finding } from '../models/check-models.ts'
import { checkGate } from '../service/checks/gate.ts'
import { exists } from '../service/checks/installation.ts'
import { createFindEvidence } from '../service/gate.ts'
import type { Settings } from '../settings/settings.ts'
import { openConfigurationStore } from '../store/configuration/configurations.ts'
import type { Database } from '../store/database.ts'
import { plainBox } from '../store/secrets/secret-box.ts'
import { withConfigurations, withDatabase } from './used-configuration.ts'

/**
 * What the gate of the recorded configuration says of that configuration, and of an edit of the file. No finding without a gate, or without a
 * database that can be read: the check of the store reports the database.
 */
export async function examineGate(settings: Settings): Promise<Finding[]> {
  const { databaseUrl, dataDir, adminTenant } = settings
  const examine = (store: ConfigurationStore, database: Database) => examineStored(store, database, settings)
  try {
    if (databaseUrl === undefined) {
      if (!(await exists(path.join(dataDir, 'agent-core.db')))) return []
      return await withDatabase(settings, async (database) =>
        examine(await openConfigurationStore(database, { adminTenant, box: plainBox, now: Date.now }), database),
      )
    }
    const { isPrepared } = await import('../store/postgres/inspect.ts')
    return (await isPrepared(databaseUrl)) ? await withConfigurations(settings, examine) : []
  } catch {
    return []
  }
}

async function examineStored(store: ConfigurationStore, database: Database, settings: Settings): Promise<Finding[]> {
  const newest = await store.newest()
  const running = newest && contentOf(newest)
  if (!running?.config.releases?.gate) return []
  const find = createFindEvidence(database, settings.adminTenant)
  const edited = await findEdit(store, settings)
  const gate = createGate({ find, now: Date.now })
  const refusal = edited && (await gate({ stored: running, used: running }, { stored: edited, used: edited }))
  const findings = await checkGate(running.config, find)
  if (!refusal) return findings
  const advice =
    'Run an experiment with the file as its candidate and save the file again, send the file with an override, or take the edit back.'
  return [...findings, { state: 'warn', text: `gate: ${describeRefusal(refusal, `The edit of ${settings.agentConfig}`)}`, advice }]
}

/** The configuration of the file, where the file may hold an edit that is not in effect. */
async function findEdit(store: ConfigurationStore, { agentConfig, databaseUrl }: Settings): Promise<ConfigContent | undefined> {
  const text = await readFile(agentConfig, 'utf8').catch(() => undefined)
  // The file of a replica may hold an earlier text of the shared configuration.
  if (text === undefined || (databaseUrl !== undefined && (await store.seenAt(text)) !== undefined)) return undefined
  try {
    return parseSource(text)
  } catch {
    return undefined
  }
}
