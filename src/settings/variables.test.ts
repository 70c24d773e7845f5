import assert from 'node:assert/strict'
import { test } from 'node:test'
import { loadSettings } from './settings.ts'
import { variableGroups, type Variable } from './variables.ts'

const variables = new Map(variableGroups.flatMap(({ variables }) => Object.entries<Variable>(variables)))

test('every declared variable is read, with its declared default', () => {
  const readNames = new Set<string>()
  const environment = new Proxy<Record<string, string>>(
    {},
    {
      get(_, name) {
        readNames.add(String(name))
        // The credentials and the region are read only with a bucket.
        return name === 'ARTIFACT_STORE' ? 's3://bucket' : undefined
      },
    },
  )
  loadSettings(environment)
  assert.deepEqual([...readNames].toSorted(), [...variables.keys()].toSorted())

  // The scope of the sign-in means nothing without CONSOLE_CLIENT_ID.
  const defaults = [...variables].flatMap(([name, variable]) => (name === 'CONSOLE_SCOPE' ? [] : [[name, variable.default]]))
  assert.deepEqual(loadSettings(Object.fromEntries(defaults), '/srv'), loadSettings({}, '/srv'))
})

test('every variable is described in sentences, which never state the default again', () => {
  for (const [name, variable] of variables) {
    assert.match(variable.description, /^\p{Lu}.*\.$/u, name)
    assert.ok(variable.default === undefined || variable.unset === undefined, name)
  }
})
