import { mkdtemp, rm } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import S3rver from '@20minutes/s3rver'

/** An S3 server in this process, with a bucket `artifacts`. */
export interface S3Server {
  /** What the service is told of it. */
  environment: Record<string, string>
  url: string
  /** Takes no more connections, and cuts those that there are. */
  close(): Promise<void>
}

export async function startS3(): Promise<S3Server> {
  const directory = await mkdtemp(path.join(os.tmpdir(), 'agent-core-s3-'))
  const server = new S3rver({
    ...{ address: '127.0.0.1', port: 0, silent: true, directory },
    allowMismatchedSignatures: true,
    configureBuckets: [{ name: 'artifacts' }],
  })
  const { port } = await server.run()
  // It miscounts the signatures of lists, and of links whose name is not ASCII; those of other links it looks at.
  server.httpServer.prependListener('request', ({ url = '' }) => {
    server.allowMismatchedSignatures = !url.includes('X-Amz-Signature') || url.includes('UTF-8')
  })
  const url = `http://127.0.0.1:${port}`
  let closing: Promise<void> | undefined
  return {
    url,
    environment: {
      ...{ ARTIFACT_STORE: 's3://artifacts/tests', S3_ENDPOINT: url, S3_REGION: 'us-east-1' },
      ...{ AWS_ACCESS_KEY_ID: 'S3RVER', AWS_SECRET_ACCESS_KEY: 'S3RVER' },
    },
    close: () =>
      (closing ??= (async () => {
        server.httpServer.closeAllConnections()
        await server.close()
        await rm(directory, { recursive: true, force: true })
      })()),
  }
}
