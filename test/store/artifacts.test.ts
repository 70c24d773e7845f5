import { mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { after, before } from 'node:test'
import type { ArtifactBytes } from '../../src/artifacts/artifact-store.ts'
import { loadSettings } from '../../src/settings/settings.ts'
import { createArtifactFiles } from '../../src/store/disk/artifact-files.ts'
import { createArtifactBucket } from '../../src/store/s3/artifacts.ts'
import { startS3, type S3Server } from '../fixtures/s3-server.ts'
import { testArtifactBytes } from './contract-artifacts.ts'
import { testArtifactLinks } from './contract-links.ts'

const folder = mkdtempSync(path.join(os.tmpdir(), 'agent-core-artifacts-'))
after(() => rmSync(folder, { recursive: true, force: true }))

testArtifactBytes('files', () => createArtifactFiles(path.join(folder, 'artifacts')))

let server: S3Server
before(async () => (server = await startS3()))
after(() => server.close())

testBucket('an S3 server in this process', () => server.environment)

/** A server that is there already: ARTIFACT_STORE and what goes with it as the service reads them, its bucket there. */
if (process.env['TEST_ARTIFACT_STORE']) {
  const environment = { ...process.env, ARTIFACT_STORE: process.env['TEST_ARTIFACT_STORE'] }
  testBucket(environment.ARTIFACT_STORE, () => environment)
}

function testBucket(name: string, environment: () => Record<string, string | undefined>): void {
  let bucket: (ArtifactBytes & { close(): void }) | undefined
  const open = () => (bucket ??= createArtifactBucket(loadSettings({ ...environment(), DATABASE_URL: '', WORKERS: '' }).artifactStore!))
  after(() => bucket?.close())
  testArtifactBytes(name, open)
  testArtifactLinks(name, open)
}
