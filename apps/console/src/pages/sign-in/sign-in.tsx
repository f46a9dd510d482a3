import { HeraldError } from '@herald/client'
import {
  Alert,
  Button,
  Center,
  Group,
  Paper,
  PasswordInput,
  SegmentedControl,
  Stack,
  TextInput,
  Title,
} from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useEffect, useMemo, useRef, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { signIn } from '../../api/calls.ts'
import type { Credentials } from '../../api/records.ts'
import { ErrorAlert } from '../../components/error-alert.tsx'
import { WarningAlert } from '../../components/warning-alert.tsx'
import { useBasicLabels } from '../../i18n/basic-labels.ts'
import icon from '../../session/icon.svg'
import { Preferences } from '../../session/preferences.tsx'
import { type SigningOut, setSession } from '../../session/session.ts'

type Role = 'application' | 'operator'

const ROLE_KEY = 'herald.role'
/** The operator signs in first: there is no application before. */
const lastRole = (): Role => (localStorage.getItem(ROLE_KEY) === 'application' ? 'application' : 'operator')

function focusFirst(form: HTMLFormElement | null): void {
  form?.querySelector<HTMLElement>('input:not([type=radio])')?.focus()
}

type Props = { ended: boolean; leaving: SigningOut }

export default function SignIn({ ended, leaving }: Props) {
  const { t } = useTranslation()
  const queries = useQueryClient()
  const [role, setRole] = useState<Role>(lastRole)
  const [appId, setAppId] = useState('')
  const [secret, setSecret] = useState('')
  const form = useRef<HTMLFormElement>(null)
  const signingIn = useMutation({
    mutationFn: (credentials: Credentials) => signIn(credentials),
    onSuccess: (session) => {
      localStorage.setItem(ROLE_KEY, role)
      // The sign-in has ended the former session.
      leaving.reset()
      setSession(queries, session)
    },
  })
  const title = t('signIn.title')
  useEffect(() => {
    document.title = title
  }, [title])
  // Not when another role is selected: arrow keys in the selection would lose the focus.
  useEffect(() => focusFirst(form.current), [])
  const operator = role === 'operator'
  return (
    <Center component="main" className="background" mih="100vh" p="md">
      <Paper withBorder p="xl" w="100%" maw={420}>
        <form
          ref={form}
          onSubmit={(event) => {
            event.preventDefault()
            signingIn.mutate(
              operator
                ? { operator_key: secret.trim() }
                : { app_id: appId.trim(), app_secret: secret.trim() },
            )
          }}
        >
          <Stack>
            <Group justify="space-between">
              <img src={icon} alt="" width={36} height={36} />
              <Group gap="xs">
                <Preferences />
              </Group>
            </Group>
            <Title order={1}>{title}</Title>
            {ended && !signingIn.isError && (
              <Alert role="status" color="yellow" variant="light">
                {t('signIn.expired')}
              </Alert>
            )}
            {(leaving.isError || leaving.isPending) && (
              <WarningAlert color="orange" title={t('signIn.signOutFailed')}>
                <Button
                  size="xs"
                  variant="default"
                  loading={leaving.isPending}
                  // The button is gone then.
                  onClick={() => leaving.mutate(undefined, { onSuccess: () => focusFirst(form.current) })}
                >
                  {t('signIn.signOutAgain')}
                </Button>
              </WarningAlert>
            )}
            <SegmentedControl
              fullWidth
              aria-label={t('signIn.as')}
              value={role}
              onChange={(next) => {
                setRole(next as Role)
                setSecret('')
                signingIn.reset()
              }}
              data={[
                { value: 'operator', label: t('app.operator') },
                { value: 'application', label: t('app.application') },
              ]}
            />
            {!operator && (
              <TextInput
                label={t('signIn.appId')}
                value={appId}
                onChange={({ currentTarget }) => setAppId(currentTarget.value)}
                required
                withAsterisk={false}
                autoComplete="username"
                spellCheck={false}
              />
            )}
            <PasswordInput
              key={role}
              label={t(operator ? 'signIn.operatorKey' : 'signIn.appSecret')}
              description={t(operator ? 'signIn.operatorHint' : 'signIn.applicationHint')}
              value={secret}
              onChange={({ currentTarget }) => setSecret(currentTarget.value)}
              required
              withAsterisk={false}
              autoComplete="current-password"
              visibilityToggleButtonProps={{ 'aria-hidden': true }}
            />
            <Refusal error={signingIn.error} operator={operator} />
            <Button type="submit" loading={signingIn.isPending}>
              {t('signIn.submit')}
            </Button>
          </Stack>
        </form>
      </Paper>
    </Center>
  )
}

const WRONG = 40103
const LOCKED = 42902

/** A wrong key, or how long to wait after too many of them; other errors as on every page. */
function Refusal({ error, operator }: { error: unknown; operator: boolean }) {
  const { t } = useTranslation()
  const { duration, format } = useBasicLabels()
  const { code, retryAfter } = error instanceof HeraldError ? error : {}
  // Of the moment of the refusal: the time of day must not move while it is shown.
  const until = useMemo(
    () => (error && retryAfter !== undefined ? Date.now() / 1000 + retryAfter : undefined),
    [error, retryAfter],
  )
  if (code !== WRONG && (code !== LOCKED || until === undefined)) return <ErrorAlert error={error} />
  return (
    <WarningAlert color="red">
      {code === WRONG
        ? t(operator ? 'signIn.wrongKey' : 'signIn.wrongSecret')
        : t('signIn.locked', { wait: duration(retryAfter ?? 0), time: format.clock(until ?? 0) })}
    </WarningAlert>
  )
}
