import { Button, Paper, Stack, Text, Title } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { useLocation, useSearchParams } from 'wouter'
import { useMe } from '../api/me.ts'
import { openSession } from '../api/session.ts'
import { ThemeSwitch } from '../shell/theme-switch.tsx'
import { useUpSignInCode } from './code.ts'
import { KeyForm } from './key-form.tsx'
import styles from './page.module.css'

/** Opens a session by an access key, or by the one-time code that the page was opened with. Asks before a session is replaced. */
export function SignInPage() {
  const [code, setCode] = useState(useUpSignInCode)
  const me = useMe()
  const [, navigate] = useLocation()
  const [search] = useSearchParams()
  const next = search.get('next') ?? '/'
  const proceed = () => navigate(next.startsWith('/') ? next : '/', { replace: true })

  useEffect(() => {
    document.title = 'Sign in · Agent Core'
  }, [])
  useEffect(() => {
    if (me.data && code === undefined) proceed()
  })

  if (me.isPending) return null
  return (
    <main className={styles.page}>
      <div className={styles.theme}>
        <ThemeSwitch />
      </div>
      <Paper className={styles.card} withBorder radius="lg">
        <img src="./icon.svg" alt="" width={36} height={36} />
        <Title order={1} mt="md" mb={4}>
          Sign in
        </Title>
        {code === undefined ? (
          <KeyForm onSignedIn={proceed} />
        ) : (
          <CodeSignIn code={code} current={me.data?.sub} onSignedIn={proceed} onRefused={() => setCode(undefined)} />
        )}
      </Paper>
    </main>
  )
}

interface CodeSignInProps {
  code: string
  /** Who is signed in already. */
  current: string | undefined
  onSignedIn: () => void
  /** Goes on without the code: stays signed in, or shows the form for a key. */
  onRefused: () => void
}

function CodeSignIn({ code, current, onSignedIn, onRefused }: CodeSignInProps) {
  const queryClient = useQueryClient()
  const signIn = useMutation({
    mutationFn: async () => {
      await openSession({ code }, queryClient)
      queryClient.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== 'me' })
    },
    onSuccess: onSignedIn,
  })
  const { mutate, isIdle } = signIn
  const isReplacing = current !== undefined
  useEffect(() => {
    if (!isReplacing && isIdle) mutate()
  }, [isReplacing, isIdle, mutate])

  if (signIn.error)
    return (
      <Stack gap="md">
        <Text role="alert">{signIn.error.message}</Text>
        <Button variant="default" onClick={onRefused}>
          Use an access key
        </Button>
      </Stack>
    )
  if (!isReplacing) return <Text c="dimmed">Signing in…</Text>
  return (
    <Stack gap="md">
      <Text>
        You are signed in as <b>{current}</b>. The link that you opened signs in somebody else. Replace your session?
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
