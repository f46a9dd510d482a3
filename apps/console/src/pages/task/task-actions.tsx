import type { TaskView } from '@herald/client'
import { Button, Group, Stack } from '@mantine/core'
import { IconPlayerPause, IconPlayerPlay, IconPlayerStop } from '@tabler/icons-react'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { controlTask, type TaskAction } from '../../api/calls.ts'
import { actionsOf } from '../../calculations/task-progress.ts'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import { ErrorAlert } from '../../components/error-alert.tsx'
import { useAppId } from '../../session/session.ts'

const icons = { pause: IconPlayerPause, resume: IconPlayerPlay, cancel: IconPlayerStop }

/** The question stays open if the task ends before it is answered, so that the result of the answer is shown. */
export function TaskActions({ task }: { task: TaskView }) {
  const { t } = useTranslation()
  const appId = useAppId()
  const queries = useQueryClient()
  const [confirming, setConfirming] = useState(false)
  const changing = useMutation({
    mutationFn: (action: TaskAction) => controlTask(appId, action, Number(task.task_id)),
    onSettled: async () => {
      setConfirming(false)
      await queries.invalidateQueries({ queryKey: ['task', appId] })
    },
  })
  const actions = actionsOf(task)
  return (
    <>
      {(actions.length > 0 || changing.isError) && (
        <Stack align="flex-end" gap="xs">
          {changing.isError && <ErrorAlert error={changing.error} />}
          <Group gap="xs">
            {actions.map((action) => {
              const Icon = icons[action]
              return (
                <Button
                  key={action}
                  variant="default"
                  leftSection={<Icon size={16} aria-hidden />}
                  loading={changing.isPending && changing.variables === action}
                  onClick={() => (action === 'cancel' ? setConfirming(true) : changing.mutate(action))}
                >
                  {t(`task.${action}`)}
                </Button>
              )
            })}
          </Group>
        </Stack>
      )}
      <ConfirmDialog
        opened={confirming}
        danger
        title={t('task.cancelTitle')}
        text={t('task.cancelText')}
        button={t('task.cancelButton')}
        busy={changing.isPending}
        onConfirm={() => changing.mutate('cancel')}
        onClose={() => setConfirming(false)}
      />
    </>
  )
}
