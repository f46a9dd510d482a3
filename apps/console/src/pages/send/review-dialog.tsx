import { type AudienceCount, HeraldError, type TaskView } from '@herald/client'
import { Alert, Anchor, Button, Group, Modal, Stack, Text, TextInput } from '@mantine/core'
import { IconAlertTriangle, IconCircleCheck, IconSend } from '@tabler/icons-react'
import { useIsMutating, useMutation, useQuery } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { countAudience, findByRequestId, notify } from '../../api/calls.ts'
import { BROADCAST_DEVICES, isTypedNumber } from '../../calculations/audience-size.ts'
import { AppLink } from '../../components/app-link.tsx'
import { ErrorAlert } from '../../components/error-alert.tsx'
import { WarningAlert } from '../../components/warning-alert.tsx'
import { useLabels } from '../../i18n/labels.ts'
import { useAppId, useCurrentSession } from '../../session/session.ts'
import { useDeviceCount } from './audience-size.tsx'
import type { Draft } from './draft.ts'
import { isInDoubt, refusalOf } from './refusal.ts'
import { requestIdOf, requestText } from './request.ts'
import { ReviewSummary } from './review-summary.tsx'

/** What is reviewed. `requestId` is the same at every press until the draft changes. */
export type Reviewed = { draft: Draft; requestId: string }

type Props = {
  onClose(): void
  /** The API refused the request. */
  onRefused(error: unknown): void
  onAccepted(taskId: number): void
}

/** The step before every send: message, audience, size, time and speed. Only the button itself sends, by a click or a key. */
export function ReviewDialog({ reviewed, ...props }: Props & { reviewed: Reviewed | undefined }) {
  const { t } = useTranslation()
  const isSending = useIsMutating({ mutationKey: SENDING }) > 0
  return (
    <Modal
      opened={reviewed !== undefined}
      onClose={props.onClose}
      size="lg"
      title={t('review.title')}
      closeOnClickOutside={false}
      // A draft that is edited now would get another request id, and the push could be sent twice.
      closeOnEscape={!isSending}
      closeButtonProps={{ 'aria-label': t('app.close'), disabled: isSending }}
    >
      {/* Mounted with the dialog, so that nothing of the last time is left. */}
      {reviewed && <Review {...reviewed} {...props} />}
    </Modal>
  )
}

function Review({ draft, requestId, onClose, onRefused, onAccepted }: Props & Reviewed) {
  const { t } = useTranslation()
  const appId = useAppId()
  const { applicationName } = useCurrentSession()
  const text = requestText(draft, { kind: 'draft', requestId })
  const [typed, setTyped] = useState('')
  /** The task that used the author's deduplication id before. */
  const [usedBy, setUsedBy] = useState<number>()
  /** Whether the answer to a press of this dialog was lost. */
  const wasInDoubt = useRef(false)
  const sentId = requestIdOf(draft, requestId)
  const isOwnId = sentId !== requestId
  // An id of the author may have a task already. It is read before the first press: times of browser and server can differ.
  const earlier = useQuery({
    queryKey: ['used-before', appId, sentId],
    queryFn: () => findByRequestId(appId, sentId),
    enabled: isOwnId,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
  })
  const counting = useQuery({
    queryKey: ['review', appId, text],
    queryFn: ({ signal }) => countAudience(appId, text, signal),
    // An application may make two counts at a time, and the form makes them too.
    retry: (failures, error) => error instanceof HeraldError && error.status === 429 && failures < 3,
    retryDelay: BUSY_MS,
    staleTime: 0,
    gcTime: 0,
  })
  const sending = useMutation({
    mutationKey: SENDING,
    mutationFn: () => notify(appId, text),
    onSuccess: ({ task_id, repeated }) => {
      // With an id of the console itself, or after a lost answer if it is not the earlier task, it is the task of this push.
      const isOurs =
        !isOwnId || (wasInDoubt.current && earlier.isSuccess && task_id !== earlier.data?.task_id)
      if (repeated && !isOurs) setUsedBy(task_id)
      else onAccepted(task_id)
    },
    onError: (error) => {
      if (isInDoubt(error)) wasInDoubt.current = true
    },
  })
  const inDoubt = isInDoubt(sending.error)
  const found = useLookUp(sentId, earlier.data, inDoubt && (!isOwnId || earlier.isSuccess))
  const refused = [counting.error, sending.error].find((error) => refusalOf(error, draft))
  useEffect(() => {
    if (refused) onRefused(refused)
  }, [refused, onRefused])
  const confirmation = confirmationOf(draft, counting.data, counting.isError, applicationName)
  const notYet = counting.isPending || earlier.isLoading || refused !== undefined
  const confirmed =
    confirmation === undefined ||
    (confirmation.kind === 'number'
      ? isTypedNumber(typed, confirmation.number)
      : typed.trim() === confirmation.name)
  return (
    <Stack gap="md">
      <ReviewSummary draft={draft} count={counting.data} isCounting={counting.isPending} />
      {counting.isError && !refused && (
        <WarningAlert color="orange" title={t('review.countFailed')}>
          <Button size="xs" variant="default" onClick={() => void counting.refetch()}>
            {t('app.retry')}
          </Button>
        </WarningAlert>
      )}
      {counting.data?.devices === 0 && (
        <WarningAlert color="orange" title={t('send.sizeZero')}>
          {t('review.zeroHint')}
        </WarningAlert>
      )}
      {confirmation && !inDoubt && (
        <TextInput
          label={t('app.typeToConfirm', {
            name: confirmation.kind === 'number' ? String(confirmation.number) : confirmation.name,
          })}
          description={t(confirmation.kind === 'number' ? 'review.typeHint' : 'review.typeNameHint')}
          inputMode={confirmation.kind === 'number' ? 'numeric' : undefined}
          autoComplete="off"
          value={typed}
          onChange={({ currentTarget }) => setTyped(currentTarget.value)}
        />
      )}
      {usedBy !== undefined && (
        <WarningAlert color="orange" title={t('review.repeated')}>
          <Anchor component={AppLink} to={`/tasks/${usedBy}`} size="sm">
            {t('task.title', { id: usedBy })}
          </Anchor>
        </WarningAlert>
      )}
      {inDoubt ? (
        <InDoubt task={found} onAccepted={onAccepted} />
      ) : (
        !refused && <ErrorAlert error={sending.error} />
      )}
      <Group justify="flex-end">
        <Button variant="default" onClick={onClose} disabled={sending.isPending} data-autofocus>
          {t('app.back')}
        </Button>
        {!found && (
          <SendButton
            count={counting.data}
            again={inDoubt}
            disabled={notYet || !confirmed}
            busy={sending.isPending}
            scheduled={draft.beginAt !== ''}
            onSend={() => {
              if (!sending.isPending) sending.mutate()
            }}
          />
        )}
      </Group>
    </Stack>
  )
}

type SendButtonProps = {
  count: AudienceCount | undefined
  again: boolean
  disabled: boolean
  busy: boolean
  scheduled: boolean
  onSend(): void
}

/** The dialog opens with the focus on Back. */
function SendButton({ count, again, disabled, busy, scheduled, onSend }: SendButtonProps) {
  const { t } = useTranslation()
  const { devices } = useDeviceCount()
  const label = again
    ? t('review.sendAgain')
    : count === undefined
      ? t(scheduled ? 'review.scheduleUncounted' : 'review.sendUncounted')
      : t(scheduled ? 'review.schedule' : 'review.send', { devices: devices(count) })
  return (
    <Button
      disabled={disabled}
      // `loading` would disable the button and lose the focus.
      aria-disabled={busy}
      data-disabled={busy || undefined}
      onClick={onSend}
      leftSection={<IconSend size={18} aria-hidden />}
    >
      {busy ? t('review.sending') : label}
    </Button>
  )
}

/** Of the call that sends the push. */
const SENDING = ['review', 'send']

/** How long a count waits for others of the application. */
const BUSY_MS = 1000

type Confirmation = { kind: 'number'; number: number } | { kind: 'name'; name: string }

/** What has to be typed: the size of a broadcast, or the application's name if its size is unknown. */
function confirmationOf(
  draft: Draft,
  count: AudienceCount | undefined,
  failed: boolean,
  applicationName: string,
): Confirmation | undefined {
  if (count)
    return draft.audienceKind === 'all' || count.devices > BROADCAST_DEVICES
      ? { kind: 'number', number: count.devices }
      : undefined
  return failed ? { kind: 'name', name: applicationName } : undefined
}

const LOOK_UP_MS = 2000

/** Looks up whether a push whose answer was lost was accepted; null: not so far. `earlier` is a task that had the id before. */
function useLookUp(
  requestId: string,
  earlier: TaskView | null | undefined,
  enabled: boolean,
): TaskView | null | undefined {
  const appId = useAppId()
  return useQuery({
    queryKey: ['request-id', appId, requestId],
    queryFn: async () => {
      const task = await findByRequestId(appId, requestId)
      return task?.task_id === earlier?.task_id ? null : task
    },
    enabled,
    retry: true,
    retryDelay: LOOK_UP_MS,
    // The request may still be on its way: a task that is missing now can appear.
    refetchInterval: ({ state }) => (state.data ? false : LOOK_UP_MS),
    gcTime: 0,
  }).data
}

type InDoubtProps = { task: TaskView | null | undefined; onAccepted(taskId: number): void }

function InDoubt({ task, onAccepted }: InDoubtProps) {
  const { t } = useTranslation()
  const { format } = useLabels()
  const alert = useRef<HTMLDivElement>(null)
  useEffect(() => alert.current?.focus(), [])
  const Icon = task ? IconCircleCheck : IconAlertTriangle
  return (
    <Alert
      ref={alert}
      role="alert"
      tabIndex={-1}
      color={task ? 'herald' : 'orange'}
      variant="light"
      title={t(task ? 'review.wasAccepted' : 'review.inDoubt')}
      icon={<Icon size={18} aria-hidden />}
    >
      <Stack gap="xs" align="flex-start">
        <Text size="sm">
          {task
            ? t('review.foundTask', { id: task.task_id, time: format.time(task.created_at) })
            : t(task === null ? 'review.notFound' : 'review.lookingUp')}
        </Text>
        {task && (
          <Button
            component={AppLink}
            to={`/tasks/${task.task_id}`}
            size="xs"
            onClick={(event) => {
              event.preventDefault()
              onAccepted(Number(task.task_id))
            }}
          >
            {t('send.viewTask')}
          </Button>
        )}
      </Stack>
    </Alert>
  )
}
