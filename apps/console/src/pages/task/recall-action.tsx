import type { TaskView } from '@herald/client'
import { Alert, Anchor, Button, Modal, Radio, Stack, Table, Text, Textarea, TextInput } from '@mantine/core'
import { IconArrowBackUp } from '@tabler/icons-react'
import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { readTask, recallTask } from '../../api/calls.ts'
import { useRequestId } from '../../api/request-id.ts'
import { hasEnded } from '../../calculations/task-progress.ts'
import { AppLink } from '../../components/app-link.tsx'
import { DialogActions } from '../../components/dialog-actions.tsx'
import { ErrorAlert } from '../../components/error-alert.tsx'
import { NoteText } from '../../components/note-text.tsx'
import { WideTable } from '../../components/wide-table.tsx'
import { useLabels } from '../../i18n/labels.ts'
import { useAppId } from '../../session/session.ts'

type Mode = 'withdraw' | 'replace'

/** Takes a push back, or replaces it. The dialog shows what each channel can do before it is confirmed. */
export function RecallAction({ task }: { task: TaskView }) {
  const { t } = useTranslation()
  const appId = useAppId()
  const [opened, setOpened] = useState(false)
  const [mode, setMode] = useState<Mode>('withdraw')
  const [title, setTitle] = useState('')
  const [body, setBody] = useState('')
  const taskId = Number(task.task_id)
  const replace = mode === 'replace' ? { title, body } : undefined
  const isBlank = replace !== undefined && title.trim() === '' && body.trim() === ''
  const plan = useQuery({
    queryKey: ['recall', appId, taskId, mode],
    // What a channel can do does not depend on the text.
    queryFn: () => recallTask(appId, taskId, mode === 'replace' ? { title: task.title || 'x' } : undefined),
    enabled: opened,
    retry: false,
  })
  const requestId = useRequestId()
  const recalling = useMutation({
    // After a lost answer the same press repeats nothing.
    mutationFn: () => recallTask(appId, taskId, replace, requestId.idFor(JSON.stringify(replace ?? null))),
    onSuccess: () => {
      requestId.reset()
      setOpened(false)
    },
  })
  const channels = plan.data?.channels ?? []
  const canDo = channels.some(({ does }) => does !== 'none')
  return (
    <Stack align="flex-end" gap="xs">
      <Button
        variant="default"
        leftSection={<IconArrowBackUp size={16} aria-hidden />}
        disabled={task.sent === 0}
        onClick={() => {
          recalling.reset()
          setOpened(true)
        }}
      >
        {t('task.recall')}
      </Button>
      {recalling.data?.task_id != null && <RecallResult taskId={Number(recalling.data.task_id)} />}
      <Modal
        opened={opened}
        onClose={() => setOpened(false)}
        title={t('task.recallTitle')}
        size="lg"
        centered
        closeButtonProps={{ 'aria-label': t('app.close') }}
      >
        <Stack>
          <Text size="sm">{t('task.recallText')}</Text>
          <Radio.Group label={t('task.recallMode')} value={mode} onChange={(value) => setMode(value as Mode)}>
            <Stack gap={4} mt={4}>
              <Radio value="withdraw" label={t('task.recallWithdraw')} />
              <Radio value="replace" label={t('task.recallReplace')} />
            </Stack>
          </Radio.Group>
          {mode === 'replace' && (
            <>
              <TextInput
                label={t('task.recallNewTitle')}
                value={title}
                onChange={({ currentTarget }) => setTitle(currentTarget.value)}
              />
              <Textarea
                label={t('task.recallNewBody')}
                value={body}
                autosize
                minRows={2}
                onChange={({ currentTarget }) => setBody(currentTarget.value)}
              />
            </>
          )}
          {plan.isError && <ErrorAlert error={plan.error} retry={plan.refetch} />}
          {channels.length > 0 && <ChannelTable channels={channels} />}
          {plan.data && !canDo && <Alert color="yellow">{t('task.recallNone')}</Alert>}
          {recalling.isError && <ErrorAlert error={recalling.error} />}
          <DialogActions
            label={t('task.recallButton')}
            danger
            busy={recalling.isPending}
            disabled={!canDo || isBlank}
            focus="back"
            onConfirm={() => recalling.mutate()}
            onClose={() => setOpened(false)}
          />
        </Stack>
      </Modal>
    </Stack>
  )
}

function ChannelTable({ channels }: { channels: Awaited<ReturnType<typeof recallTask>>['channels'] }) {
  const { t } = useTranslation()
  const { channel, format } = useLabels()
  return (
    <WideTable label={t('task.recallChannels')} minWidth={300}>
      <Table.Thead>
        <Table.Tr>
          <Table.Th>{t('app.channel')}</Table.Th>
          <Table.Th className="number">{t('task.count')}</Table.Th>
          <Table.Th>{t('task.recallDoes')}</Table.Th>
          <Table.Th>{t('task.reason')}</Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {channels.map((row) => (
          <Table.Tr key={row.channel} data-channel={row.channel}>
            <Table.Th scope="row">{channel(row.channel)}</Table.Th>
            <Table.Td className="number">{format.number(row.devices)}</Table.Td>
            <Table.Td>{t(`task.recallDo.${row.does}`)}</Table.Td>
            <Table.Td className="breaks">{row.reason && <NoteText>{row.reason}</NoteText>}</Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </WideTable>
  )
}

/** The counts of the recall, which is a task of its own. */
function RecallResult({ taskId }: { taskId: number }) {
  const { t } = useTranslation()
  const { format } = useLabels()
  const appId = useAppId()
  const { data } = useQuery({
    queryKey: ['task', appId, 'recall', taskId],
    queryFn: () => readTask(appId, taskId).then((found) => found ?? null),
    refetchInterval: ({ state }) => (state.data && hasEnded(state.data) ? false : 1000),
  })
  return (
    <Text size="sm" role="status">
      {t('task.recallSent', {
        id: taskId,
        sent: format.number(data?.sent ?? 0),
        target: format.number(data?.target ?? 0),
      })}{' '}
      <Anchor component={AppLink} to={`/tasks/${taskId}`} size="sm">
        {t('task.recallView')}
      </Anchor>
    </Text>
  )
}
