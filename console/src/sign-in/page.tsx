import { Button, Divider, Paper, Stack, Text, Title } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { useLocation, useSearchParams } from 'wouter'
import { messageOf } from '../api/errors.ts'
import { useMe } from '../api/me.ts'
import { openSession, type Credential } from '../api/session.ts'
import { ThemeSwitch } from '../shell/theme-switch.tsx'
import { useUpArrival } from './arrival.ts'
import { canUseProvider, goToProvider, loadSignInOptions } from './identity-provider.ts'
import { KeyForm } from './key-form.tsx'
import styles from './page.module.css'

/** Opens a session: by a one-time code, at the identity provider, or by an access key. Asks before a session is replaced. */
export function SignInPage() {
  const [arrival, setArrival] = useState(useUpArrival)
  const me = useMe()
  const [, navigate] = useLocation()
  const [search] = useSearchParams()
  const next = arrival?.next ?? search.get('next') ?? '/'
  const proceed = () => navigate(next.startsWith('/') ? next : '/', { replace: true })
  const isArriving = arrival?.credential !== undefined

  useEffect(() => {
    document.title = 'Sign in · Agent Core'
  }, [])
  useEffect(() => {
    if (me.data && !isArriving) proceed()
  })

  if (me.isPending) return null
  return (
    <main className={styles.page}>
      <div className={styles.theme}>
        <ThemeSwitch />
      </div>
      <Paper className={styles.card} withBorder radius="lg">
        <img src="./icon.svg" alt="" width={36} height={36} />
        <Title order={1} mt="md" mb="sm">
          Sign in
        </Title>
        {arrival?.credential ? (
          <ArrivalSignIn
            credential={arrival.credential}
            current={me.data?.sub}
            onSignedIn={proceed}
            onRefused={() => setArrival({ next })}
          />
        ) : (
          <Choices fault={arrival?.fault} next={next} onSignedIn={proceed} />
        )}
      </Paper>
    </main>
  )
}

function Choices({ fault, next, onSignedIn }: { fault: string | undefined; next: string; onSignedIn: () => void }) {
  const options = useQuery({ queryKey: ['sign-in options'], queryFn: ({ signal }) => loadSignInOptions(signal), staleTime: Infinity }).data
  const provider = options?.identity_provider
  return (
    <Stack gap="md">
      {fault !== undefined && (
        <Text size="sm" role="alert">
          {fault.slice(0, 600)}
        </Text>
      )}
      {options?.is_provider_away && (
        <Text size="sm" c="dimmed">
          The identity provider does not answer at the moment. An access key works all the same.
        </Text>
      )}
      {provider && (
        <>
          <Button size="md" disabled={!canUseProvider} onClick={() => void goToProvider(provider, next)}>
            Sign in with {new URL(provider.authorize_url).host}
          </Button>
          {!canUseProvider && (
            <Text size="xs" c="dimmed">
              This needs a page that is served by https.
            </Text>
          )}
          <Divider label="or" />
        </>
      )}
      <KeyForm isReplacing onSignedIn={onSignedIn} />
    </Stack>
  )
}

interface ArrivalSignInProps {
  credential: Credential
  /** The caller that is signed in already. */
  current: string | undefined
  onSignedIn: () => void
  /** Goes on without the credential: stays signed in, or shows the other ways. */
  onRefused: () => void
}

function ArrivalSignIn({ credential, current, onSignedIn, onRefused }: ArrivalSignInProps) {
  const queryClient = useQueryClient()
  const signIn = useMutation({ mutationFn: () => openSession(credential, queryClient, { isReplacing: true }), onSuccess: onSignedIn })
  const { mutate, isIdle } = signIn
  const isReplacing = current !== undefined
  useEffect(() => {
    if (!isReplacing && isIdle) mutate()
  }, [isReplacing, isIdle, mutate])

  if (signIn.error)
    return (
      <Stack gap="md">
        <Text role="alert">{messageOf(signIn.error)}</Text>
        <Button variant="default" onClick={onRefused}>
          Sign in another way
        </Button>
      </Stack>
    )
  if (!isReplacing) return <Text c="dimmed">Signing in…</Text>
  return (
    <Stack gap="md">
      <Text>
        You are signed in as <b>{current}</b>. The link that you opened begins another session. Replace yours?
      </Text>
      <Button onClick={() => mutate()} loading={signIn.isPending}>
        Replace my session
      </Button>
      <Button variant="default" onClick={onRefused}>
        Stay signed in as {current}
      </Button>
    </Stack>
  )
}
