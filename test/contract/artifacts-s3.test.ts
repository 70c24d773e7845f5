import assert from 'node:assert/strict'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { test, type TestContext } from 'node:test'
import { createFolder, runIn } from '../../src/cli/terminal-fixture.ts'
import { loadSettings } from '../../src/settings/settings.ts'
import { createArtifactBucket } from '../../src/store/s3/artifacts.ts'
import { checkBucket } from '../../src/store/s3/check.ts'
import { until } from '../fixtures/async-client.ts'
import { startS3, type S3Server } from '../fixtures/s3-server.ts'
import type { Client } from '../fixtures/service-client.ts'
import { startService } from '../fixtures/service.ts'
import { callOf } from '../fixtures/tools.ts'

async function openS3(t: TestContext): Promise<S3Server> {
  const server = await startS3()
  t.after(() => server.close())
  return server
}

/** A service with artifacts in a bucket, and a model that writes a file in its first turn. */
async function startWriter(t: TestContext, s3: S3Server) {
  const share = await mkdtemp(path.join(os.tmpdir(), 'agent-core-share-'))
  t.after(() => rm(share, { recursive: true, force: true }))
  const write = callOf('write_file', { file_name: 'Größe.md', content: '# Notes' })
  const service = await startService(t, {
    script: ({ body }) => (body.messages.at(-1).role === 'tool' ? { text: 'written' } : { calls: write.calls }),
    environment: { ...s3.environment, ARTIFACT_SHARE_DIR: share },
    config: { tools: [{ name: 'write_file' }] },
  })
  return { ...service, share }
}

const download = (client: Client) => client.request('GET', '/core/v1/download_artifact/1/0', { headers: { 'session-id': 's' } })

async function foldersOf(s3: S3Server): Promise<string[]> {
  const bucket = createArtifactBucket(loadSettings(s3.environment).artifactStore!)
  const names: string[] = []
  for await (const { name } of bucket.folders()) names.push(name)
  bucket.close()
  return names
}

test('Artifacts: on S3 the link is presigned, works without a key, and is deleted with its session', async (t) => {
  const s3 = await openS3(t)
  const { client, settings, share } = await startWriter(t, s3)
  const { body: answer } = await client.chat('write', { 'session-id': 's' })
  const [answerFile] = answer.body.generated_artifacts
  assert.equal(new URL(answerFile.download_url).searchParams.get('X-Amz-Expires'), '900')
  assert.equal(await (await fetch(answerFile.download_url)).text(), '# Notes')
  const { status, body } = await download(client)
  assert.deepEqual(
    { status, file_name: body.body.file_name, file_type: body.body.file_type },
    { status: 200, file_name: 'Größe.md', file_type: 'text/markdown' },
  )
  assert.ok(body.body.download_url.startsWith(`${s3.url}/artifacts/tests/`))
  assert.equal(new URL(body.body.download_url).searchParams.get('X-Amz-Expires'), '900')
  const file = await fetch(body.body.download_url)
  assert.equal(await file.text(), '# Notes')
  assert.match(file.headers.get('content-disposition')!, /^attachment; .*filename\*=UTF-8''Gr%C3%B6%C3%9Fe\.md$/)
  assert.deepEqual(await readdir(settings.dataDir).then((names) => names.filter((name) => name === 'artifacts')), [])

  const place = { message_index: 1, artifact_index: 0, session_id: 's' }
  const shared = await client.request('POST', '/core/v1/share_agent_artifact', { body: place })
  assert.equal(path.relative(share, shared.body.body.path).split(path.sep)[1], 'Größe.md')
  assert.equal(await readFile(shared.body.body.path, 'utf8'), '# Notes')

  const fork = await client.request('POST', '/core/v1/sessions/s/fork', { body: { message_index: 2 } })
  assert.equal((await client.request('DELETE', '/core/v1/sessions/s')).status, 200)
  await until(
    async () => (await foldersOf(s3)).length,
    (count) => count === 1,
  )
  assert.equal((await fetch(body.body.download_url)).status, 404)
  const forked = await client.request('GET', '/core/v1/download_artifact/1/0', { headers: { 'session-id': fork.body.session_id } })
  assert.equal(await (await fetch(forked.body.body.download_url)).text(), '# Notes')
})

test('Artifacts: on S3 a direct tool execution answers with links', async (t) => {
  const { client } = await startWriter(t, await openS3(t))
  const body = { tool_name: 'write_file', tool_input: { file_name: 'page.html', content: '<b>x</b>' } }
  const [file] = (await client.request('POST', '/core/v1/tool/execute', { body })).body.generated_artifacts
  const found = await fetch(file.download_url)
  assert.deepEqual(
    { file_type: file.file_type, 'content-type': found.headers.get('content-type') },
    { file_type: 'text/html', 'content-type': 'application/octet-stream' },
  )
  assert.equal(await found.text(), '<b>x</b>')
})

test('Artifacts: while the store is unreachable a download is 503, the model gets an error, and deletions are retried', async (t) => {
  const s3 = await openS3(t)
  const { client, log } = await startWriter(t, s3)
  await client.chat('write', { 'session-id': 's' })
  await s3.close()
  const away = await download(client)
  assert.deepEqual(
    { status: away.status, 'retry-after': away.headers.get('retry-after'), body: away.body.body, error_type: away.body.details.error_type },
    { status: 503, 'retry-after': '10', body: 'Files cannot be reached at the moment.', error_type: 'ArtifactsUnavailable' },
  )
  const place = { message_index: 1, artifact_index: 0, session_id: 's' }
  assert.equal((await client.request('POST', '/core/v1/share_agent_artifact', { body: place })).status, 503)
  const { body } = await client.chat('again', { 'session-id': 's2' })
  assert.equal(body.body.intermediate_steps[0].output.error, 'Größe.md could not be kept: its folder cannot be written to.')
  assert.equal((await client.request('DELETE', '/core/v1/sessions/s')).status, 200)
  assert.equal(
    await until(
      async () => log.filter((line) => line.includes('"kind":"session_deleted"') && line.includes('job failed')).length > 0,
      Boolean,
    ),
    true,
  )
  assert.doesNotMatch(log.join('\n'), /X-Amz-Signature|AWS4-HMAC|S3RVER/)
})

test('a bucket that cannot be used stops the start with a line that names the variable', async (t) => {
  const { environment } = await openS3(t)
  const faultOf = async (change: Record<string, string>) => {
    const settings = loadSettings({ ...environment, ...change }).artifactStore!
    return checkBucket(settings, 0).then(
      () => undefined,
      (error: Error) => error.message,
    )
  }
  assert.equal(await faultOf({}), undefined)
  assert.match((await faultOf({ ARTIFACT_STORE: 's3://nowhere/x' }))!, /^ARTIFACT_STORE is "s3:\/\/nowhere\/x"; there is no such bucket: /)
  assert.match(
    (await faultOf({ AWS_ACCESS_KEY_ID: 'hunter2' }))!,
    /^The server of ARTIFACT_STORE rejects AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY: /,
  )
  assert.match(
    (await faultOf({ S3_ENDPOINT: 'http://127.0.0.1:1' }))!,
    /^S3_ENDPOINT is "http:\/\/127\.0\.0\.1:1"; the server of ARTIFACT_STORE cannot be reached there: .*ECONNREFUSED/,
  )
  for (const line of [await faultOf({ AWS_ACCESS_KEY_ID: 'hunter2' }), await faultOf({ ARTIFACT_STORE: 's3://nowhere' })]) {
    assert.doesNotMatch(line!, /\n|hunter2|S3RVER/)
  }
  assert.deepEqual(await foldersOf({ environment } as S3Server), [])

  const folder = await createFolder(t)
  const bad = await runIn(folder, ['serve', '--init'], { ...environment, PORT: '0', ARTIFACT_STORE: 's3://nowhere/x' })
  assert.equal(bad.code, 1)
  assert.match(bad.err, /^ARTIFACT_STORE is "s3:\/\/nowhere\/x"; [^\n]+\n$/)
  const doctor = await runIn(folder, ['doctor'], { ...environment, ARTIFACT_STORE: 's3://nowhere/x' })
  assert.match(doctor.out, /^fail {2}artifacts: ARTIFACT_STORE is "s3:\/\/nowhere\/x"; there is no such bucket/m)
  assert.match((await runIn(folder, ['doctor'], environment)).out, /^ok {4}artifacts: s3:\/\/artifacts\/tests accepts files$/m)
})
