import { loadSettings, SettingsError } from '../../src/settings/settings.ts'

/** The environment variables that settings are read from. */
export function settingNames(): Set<string> {
  const names = new Set<string>()
  const environment = new Proxy<Record<string, string>>(
    {},
    {
      get(_, name) {
        names.add(String(name))
        // What is read only where another is set.
        return name === 'ARTIFACT_STORE' ? 's3://bucket' : undefined
      },
    },
  )
  try {
    loadSettings(environment)
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error
  }
  return names
}
