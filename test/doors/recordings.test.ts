import assert from 'node:assert/strict'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { test } from 'node:test'
import { startService } from '../fixtures/service.ts'
import type { ModelAnswer } from '../fixtures/model-server.ts'
import { doors, idOf, type Send } from './doors.ts'
import { createNormal } from './normal.ts'
import { scenarios, tools } from './scenarios.ts'

/**
 * The bytes that each door sends for the same runs, compared with those of `recorded/`. A change of structure leaves all of them as they are.
 * A change that is meant is recorded again with `RECORD=yes`, and read in the difference.
 */
const folder = new URL('recorded/', import.meta.url)
const isRecording = process.env['RECORD'] === 'yes'

for (const [name, door] of Object.entries(doors))
  test(`Door ${name}: sends what was recorded`, async (t) => {
    let turns: ModelAnswer[] = []
    let asked = 0
    const script = (): ModelAnswer => ({ writes: 'together', ...(turns[asked++] ?? turns.at(-1)!) })
    const service = await startService(t, { script, tools, config: { max_iterations: 4 } })
    const { key } = await service.key()
    const normal = createNormal(service.url)
    const sections: string[] = []
    for (const [question, scenario] of Object.entries(scenarios)) {
      ;[turns, asked] = [scenario.turns, 0]
      sections.push(`# ${question}`)
      const send: Send = async (method, path, body, headers = {}) => {
        const sent = { 'x-service-access': key, ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers }
        const init = { method, headers: sent, ...(body !== undefined && { body: JSON.stringify(body) }) }
        const response = await fetch(service.url + path, { ...init, signal: AbortSignal.timeout(20_000) }).catch((error: unknown) => {
          throw new Error(`${question}: ${method} ${path}`, { cause: error })
        })
        const text = await response.text().catch((error: unknown) => {
          throw new Error(`${question}: ${method} ${path}`, { cause: error })
        })
        sections.push(`## ${method} ${normal(path)}\n${response.status} ${response.headers.get('content-type') ?? '-'}\n${normal(text)}`)
        return text
      }
      await door({ send, scenario, question, id: idOf(name, question) })
    }
    const seen = `${sections.join('\n\n')}\n`
    const file = new URL(`${name}.txt`, folder)
    if (isRecording) {
      await mkdir(folder, { recursive: true })
      return writeFile(file, seen)
    }
    const recorded = normal(await readFile(file, 'utf8'))
    for (const [at, section] of recorded.split('\n\n# ').entries()) assert.equal(seen.split('\n\n# ')[at], section, name)
    assert.equal(seen.length, recorded.length)
  })
